import type { Fleet } from '@convoy/api/fleet/fleet';
import type { NamespacePart } from '@convoy/api/fleet/published-details';
import { runTogether } from '../../async/together.js';
import { ByteBudget } from '../../async/waiting.js';
import type { RawValue } from '../../bson/scan.js';
import type { NamespaceFilter } from '../../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { CatalogEntry } from '../../catalog/namespace.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { Copier, type CopyDependencies } from '../../copy/copier.js';
import { CappedEnds } from '../../copy/copy-capped.js';
import { CopyConcurrency, ReadRate } from '../../copy/copy-pace.js';
import { Rereader } from '../../reread/rereader.js';
import type { StreamPatience } from '../../store/change-event.js';
import type { DdlEntry } from '../../store/ddl-journal.js';
import type { FencedWriter } from '../../store/fenced-writer.js';
import type { Metadata } from '../../store/metadata.js';
import { type RereadEntry, RereadSet } from '../../store/reread-set.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import { TaskStorage } from '../../store/task-storage.js';
import type { Runtime } from '../migration/runtime.js';
import { ApplyStage } from './apply-stage.js';
import { CopyPlans } from './copy-plans.js';
import { type FollowedEntry, TaskTables } from './followed-collections.js';
import { RereadRelief } from './reread-relief.js';
import { OwnedRecord, TaskCheckpoint, taskWriters } from './task-checkpoint.js';
import type { TaskCollection } from './task-collections.js';
import { TaskDdl, UndoneEntries } from './task-ddl.js';
import { copyStats, lagBehind, type TaskStats } from './task-stats.js';

/** What a sync pipeline needs to start or to continue. */
export interface SyncPipelineDependencies {
  runtime: Runtime;
  source: ClusterClient;
  destination: ClusterClient;
  metadata: Metadata;
  records: TaskRecords;
  record: TaskRecord;
  /** The source shard that the task reads. */
  shardId: string;
  /** The task's collections after all done DDL changes, in the order of their copy. */
  collections: TaskCollection[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: ReadonlySet<string>;
  /** Entries of the DDL journal that are not done yet: the task starts with their collections suspended. */
  undone: readonly DdlEntry[];
  startTime: bigint;
  /** The destination already has the initial collections as they were at the start time. */
  beginsCopied: boolean;
  /** Bound of the bytes in this task's buffers. */
  bytesMax: number;
  /**
   * Above this number of pending re-reads, a range of them is copied again. The default is the re-read set's own bound.
   */
  rereadRequestsMax?: number;
  filter: NamespaceFilter;
  remap: NamespaceRemap;
  /** The task's part of a new collection on the source; null when it has none. */
  taskOf: (followed: FollowedEntry) => TaskCollection | null;
  /** Called immediately when a stage fails, while writes in flight still finish. */
  onFailure: (error: unknown) => void;
  /** Wakes the leader and the other tasks to read the task's record. */
  fleet: Fleet;
  /** Waits for the position of the task's stream. */
  patience: StreamPatience;
  /**
   * Replaces a partly copied capped collection on the destination with an empty one.
   * @param confirm rejects when another process owns the task
   */
  recreate: (entry: CatalogEntry, confirm: () => Promise<void>, signal: AbortSignal) => Promise<void>;
}

/** Interval of the check for a drained task, which waits for a few round trips. */
const drainPoll_ms = 20;

/**
 * The stages of one sync task: change stream and apply workers, copy, re-read, DDL changes, and the checkpoint. Each is
 * made of those before it.
 */
export class SyncPipeline {
  readonly ddlChanges: TaskDdl;
  readonly #undone = new UndoneEntries();
  readonly #followed: TaskTables;
  readonly #storage: TaskStorage;
  readonly #record: OwnedRecord;
  readonly #budget: ByteBudget;
  readonly #copyBudget: ByteBudget;
  readonly #rereads: RereadSet;
  readonly #apply: ApplyStage;
  readonly #plans: CopyPlans;
  readonly #copier: Copier;
  readonly #rereader: Rereader;
  readonly #checkpoint: TaskCheckpoint;
  #commitTime: bigint | null = null;

  /** @param hard aborts everything at once, writes in flight included */
  constructor(
    private readonly deps: SyncPipelineDependencies,
    private readonly hard: AbortSignal,
  ) {
    const { runtime, fleet, record, records, destination, metadata } = deps;
    const startAt = record.checkpoint?.toBigInt() ?? deps.startTime;
    this.#followed = new TaskTables(deps.known, deps.remap);
    this.#storage = new TaskStorage(metadata, record._id, record.epoch, hard);
    this.#record = new OwnedRecord(records, record, runtime.clock, hard);
    const writers = taskWriters(destination, runtime, record, this.#record);
    this.#budget = new ByteBudget(deps.bytesMax / 2);
    this.#copyBudget = new ByteBudget(deps.bytesMax / 2);
    this.#rereads = new RereadSet(this.#storage, this.#budget, deps.rereadRequestsMax);
    const [followed, rereads, undone] = [this.#followed, this.#rereads, this.#undone];
    const state = { record: this.#record, followed, rereads, budget: this.#budget, writer: writers.apply };
    this.#apply = new ApplyStage(deps, state, startAt);
    const { dispatcher, workers, unknown } = this.#apply;
    this.#plans = new CopyPlans(deps, this.#storage, followed, this.#record);
    this.#copier = new Copier([], this.#copyDependencies(writers.copy));
    this.#rereader = this.#makeRereader(writers.reread);
    this.#checkpoint = new TaskCheckpoint(
      { runtime, record: this.#record, apply: this.#apply, rereads, followed, copier: this.#copier, fleet },
      startAt,
    );
    this.ddlChanges = new TaskDdl({
      followed,
      unknown,
      applyWorkers: workers,
      dispatcher,
      copier: this.#copier,
      plans: this.#plans,
      rereader: this.#rereader,
      rereads,
      storage: this.#storage,
      undone,
    });
  }

  get taskId(): string {
    return this.deps.record._id;
  }

  get epoch(): number {
    return this.deps.record.epoch;
  }

  /** Claims the durable state of the task; the first owner plans its partitions. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { collections, undone } = this.deps;
    const { partitions, rereads } = await this.#storage.claim(collections.map(({ copy }) => copy));
    for (const task of collections) {
      const table = await this.#plans.first(task, partitions.get(task.copy), signal);
      this.#followed.add(task, table);
      this.#copier.add(table);
    }
    this.#rereads.restore(rereads, this.#followed.collections);
    this.ddlChanges.learn(undone);
  }

  /** Runs all stages until the stop signal, and finishes what is in flight; rejects with the first failure. */
  async run(stop: AbortSignal): Promise<void> {
    try {
      const stages = [
        (signal: AbortSignal) => this.#apply.stream.run(signal),
        (signal: AbortSignal) => this.#apply.workers.run(signal, this.hard),
        (signal: AbortSignal) => this.#rereader.run(signal, this.hard),
        (signal: AbortSignal) => this.#copier.run(signal, this.hard),
        (signal: AbortSignal) => this.#apply.unknown.run(signal),
        (signal: AbortSignal) => this.#checkpoint.keep(signal),
      ];
      await runTogether(stop, stages, this.deps.onFailure);
    } catch (error) {
      if (!stop.aborted) throw error;
    }
    await this.#checkpoint.save();
  }

  /** Whether everything is copied. */
  get copyDone(): boolean {
    return this.#checkpoint.copyDone;
  }

  /** Copy progress of each collection. */
  namespaceParts(): NamespacePart[] {
    return this.#followed.namespaceParts();
  }

  /** Sets the time below which the task knows all DDL changes; a smaller time changes nothing. */
  setDdlWatermark(time: bigint): void {
    this.#apply.dispatcher.setDdlWatermark(time);
  }

  /** Sets the commit time: the task applies nothing later, unless a later commit time follows. */
  setCommitTime(time: bigint): void {
    this.#commitTime = time;
    this.#apply.dispatcher.setCommitTime(time);
    this.#copier.setCommitTime(time);
  }

  /** Sets the commit time for good: no later one follows. */
  seal(time: bigint): void {
    this.setCommitTime(time);
    this.#apply.dispatcher.seal();
  }

  /**
   * Requests re-reads of documents that differ, if the task has a part in their collection.
   * @param copy name of the collection's copy
   * @returns false once a commit time is set: up to it all tasks drain
   */
  async readAnew(copy: string, ids: readonly RawValue[], signal: AbortSignal): Promise<boolean> {
    if (this.#commitTime !== null) return false;
    const collection = this.#followed.collectionOf(copy);
    if (collection === null) return true;
    const keys = ids.map((id) => ({ collection, id, reason: 'mismatch' as const, time: 0n }));
    const { workers, dispatcher } = this.#apply;
    await this.#rereads.addParked(keys, () => workers.flushed(dispatcher.latest, signal));
    return true;
  }

  /** Stores that the task acknowledges all entries of the journal up to an ordinal: nothing of them is in flight. */
  async acknowledge(ordinal: number): Promise<void> {
    await this.#record.update({ acknowledged: ordinal });
  }

  /**
   * Resolves once everything up to the commit time is durable on the destination and no re-read is pending. The DDL
   * changes up to it are done, and the checkpoint is past it. Documents that a later DDL change makes unreadable at the
   * commit time do not hold it: another commit time follows.
   * @param isSuperseded whether this commit time no longer counts: it is too old, or the source is gone
   * @returns false when it is not drained because it no longer counts
   */
  async drain(time: bigint, isSuperseded: () => boolean, signal: AbortSignal): Promise<boolean> {
    this.setCommitTime(time);
    while (!this.#isQuietUpTo(time)) {
      if (isSuperseded()) return false;
      await this.deps.runtime.clock.sleep(drainPoll_ms, signal);
    }
    await this.#checkpoint.save();
    return true;
  }

  #isQuietUpTo(time: bigint): boolean {
    const defined = this.#undone.doneUpTo(time) && this.#apply.unknown.size === 0;
    const copied = !this.#rereads.anyUpTo(time) && this.#followed.copyDoneUpTo(time);
    return this.#apply.isQuietUpTo(time) && defined && copied;
  }

  stats(): TaskStats {
    const { workers, dispatcher, stream, recentWrites, eventsApplied } = this.#apply;
    const { readBelow, lateWrites: above } = dispatcher;
    const { sourceTime } = stream;
    const readings = this.#commitTime === null ? 0 : this.#followed.readingsAbove(this.#commitTime);
    return {
      ...copyStats(this.#followed.tables.values()),
      copyDone: this.copyDone,
      copying: this.#followed.copying,
      eventsApplied,
      followsStream: stream.isFollowed,
      lag_seconds: lagBehind(sourceTime, this.#checkpoint.time(), this.#commitTime),
      readLag_seconds: lagBehind(sourceTime, readBelow),
      readBelow,
      sourceWrites: recentWrites.read(),
      hotDocuments: workers.hotDocuments(),
      pendingRereads: this.#rereads.size,
      bufferedBytes: this.#budget.used + this.#copyBudget.used,
      lateWrites: { ...above, writes: above.writes + readings },
    };
  }

  #copyDependencies(writer: FencedWriter): CopyDependencies {
    const { runtime, source } = this.deps;
    const { stream } = this.#apply;
    return {
      shard: source.taskClient(this.deps.shardId),
      writer,
      rereads: this.#rereads,
      retrying: runtime.retrying,
      clock: runtime.clock,
      rate: new ReadRate(runtime.clock, runtime.config.loadRateBytesPerSecond ?? null),
      budget: this.#copyBudget,
      stream,
      cappedEnds: new CappedEnds(this.#budget, stream),
      restarts: this.#plans,
      partition_seconds: runtime.config.partition_seconds,
      readers: runtime.config.readers,
      concurrency: new CopyConcurrency(runtime.clock, runtime.config),
    };
  }

  #makeRereader(writer: FencedWriter): Rereader {
    const { runtime, source, destination } = this.deps;
    const { dispatcher, stream, watermark } = this.#apply;
    return new Rereader({
      shard: source.taskClient(this.deps.shardId),
      source: source.router,
      destination: destination.router,
      writer,
      rereads: this.#rereads,
      applyWatermark: watermark,
      retrying: runtime.retrying,
      clock: runtime.clock,
      stream,
      mayRead: (entry) => this.#mayRead(entry),
      relief: new RereadRelief({
        rereads: this.#rereads,
        clock: runtime.clock,
        tables: this.#followed.tables,
        dispatcher,
        copier: this.#copier,
        undone: this.#undone,
      }),
    });
  }

  /**
   * Only copied documents can be re-read. Not while their collection is suspended, and not at a time before that copy,
   * its present name, or what an earlier process has applied.
   */
  #mayRead({ collection, id }: RereadEntry): boolean {
    const { isRoutedAgain, position } = this.#apply.dispatcher;
    const partition = this.#followed.tables.get(collection.uuid)?.find(id);
    if (partition?.state !== 'done' || !isRoutedAgain || this.#undone.isSuspended(collection.uuid)) return false;
    return (partition.readTime ?? 0n) <= position && collection.notBefore <= position;
  }
}
