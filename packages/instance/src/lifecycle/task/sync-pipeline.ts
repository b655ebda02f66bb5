import type { NamespacePart } from '@convoy/api/fleet/published-details';
import { presentOn } from '../../apply/find-present.js';
import { ApplyWorkers } from '../../apply/apply-workers.js';
import { EventDispatcher } from '../../apply/event-dispatcher.js';
import { RecentWrites } from '../../apply/recent-writes.js';
import type { RawValue } from '../../bson/scan.js';
import { timestampOf } from '../../cluster/cluster-time.js';
import { CappedEnds } from '../../copy/capped-end.js';
import { Copier } from '../../copy/copier.js';
import type { CopyDependencies } from '../../copy/copy-dependencies.js';
import { CopyConcurrency } from '../../copy/copy-concurrency.js';
import { ReadRate } from '../../copy/read-rate.js';
import { Rereader } from '../../reread/rereader.js';
import { ApplyWatermark } from '../../store/apply-watermark.js';
import { ByteBudget } from '../../store/byte-budget.js';
import type { PartitionTable } from '../../store/partition-table.js';
import { type RereadEntry, RereadSet } from '../../store/reread-set.js';
import { runTogether } from '../../store/run-together.js';
import type { TaskRecord } from '../../store/task-record.js';
import { TaskStorage } from '../../store/task-storage.js';
import { Condition } from '../../store/condition.js';
import type { FollowedEntry } from './followed-catalog.js';
import { copiedTable, freshTable, logLeftOrder, startsOf, storedTable } from './plan-partitions.js';
import { RereadRelief } from './reread-relief.js';
import { TaskCheckpoint } from './task-checkpoint.js';
import type { TaskCollection } from './task-collections.js';
import { TaskDdl } from './task-ddl.js';
import { copyStats, lagBehind, type TaskStats } from '../stats/task-stats.js';
import type { SyncPipelineDependencies } from './pipeline-dependencies.js';
import { TaskStream } from './task-stream.js';
import { TaskTables } from './task-tables.js';
import { type TaskWriters, taskWriters } from './task-writers.js';
import { UnknownCollections } from './unknown-collections.js';

/** Interval of the check for a drained task, which waits for a few round trips. */
const drainPoll_ms = 20;

/**
 * Composes the stages of one sync task: change stream and apply workers, copy, re-read, DDL changes, and the
 * checkpoint.
 */
export class SyncPipeline {
  readonly ddlChanges: TaskDdl;
  readonly #rereads: RereadSet;
  readonly #recentWrites: RecentWrites;
  readonly #budget: ByteBudget;
  readonly #copyBudget: ByteBudget;
  readonly #storage: TaskStorage;
  readonly #progressed = new Condition();
  readonly #followed: TaskTables;
  readonly #unknown: UnknownCollections;
  readonly #applyWatermark: ApplyWatermark;
  readonly #writers: TaskWriters;
  readonly #workers: ApplyWorkers;
  readonly #dispatcher: EventDispatcher;
  readonly #stream: TaskStream;
  readonly #rereader: Rereader;
  readonly #copier: Copier;
  readonly #checkpoint: TaskCheckpoint;
  #eventsApplied: number;
  #commitTime: bigint | null = null;

  /** @param hard aborts everything at once, writes in flight included */
  constructor(
    private readonly deps: SyncPipelineDependencies,
    private readonly hard: AbortSignal,
  ) {
    const { runtime, record, destination, metadata } = deps;
    const startAt = record.checkpoint?.toBigInt() ?? deps.startTime;
    this.#eventsApplied = record.eventsApplied;
    this.#recentWrites = new RecentWrites(runtime.clock);
    this.#budget = new ByteBudget(deps.bytesMax / 2);
    this.#copyBudget = new ByteBudget(deps.bytesMax / 2);
    this.#followed = new TaskTables(deps.known, deps.toDestination);
    this.#storage = new TaskStorage(metadata, record._id, record.epoch, hard);
    this.#rereads = new RereadSet(this.#storage, this.#budget, deps.rereadRequestsMax);
    this.#unknown = this.#makeUnknown();
    this.#writers = taskWriters(destination, runtime.retrying, record, runtime.config.applyWorkers, () =>
      this.#checkpoint.confirmOwner(),
    );
    const watermark = record.applyWatermark?.toBigInt() ?? deps.startTime - 1n;
    const saveWatermark = (time: bigint): Promise<void> =>
      this.#checkpoint.update({ applyWatermark: timestampOf(time) });
    this.#applyWatermark = new ApplyWatermark(watermark, saveWatermark, () => this.#dispatcher.readBelow);
    this.#workers = this.#makeWorkers();
    this.#dispatcher = this.#makeDispatcher(startAt, watermark);
    this.#stream = new TaskStream(deps, { dispatcher: this.#dispatcher, budget: this.#budget }, startAt);
    this.#rereader = this.#makeRereader();
    this.#copier = new Copier([], this.#copyDependencies());
    this.#checkpoint = this.#makeCheckpoint(startAt);
    this.ddlChanges = this.#makeDdlChanges();
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
      const stored = partitions.get(task.copy);
      const save = this.#storage.saverOf(task.copy);
      const table = stored === undefined ? await this.#planFirst(task, signal) : storedTable(task, stored, save);
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
        (signal: AbortSignal) => this.#stream.run(signal),
        (signal: AbortSignal) => this.#workers.run(signal, this.hard),
        (signal: AbortSignal) => this.#rereader.run(signal, this.hard),
        (signal: AbortSignal) => this.#copier.run(signal, this.hard),
        (signal: AbortSignal) => this.#unknown.run(signal),
        (signal: AbortSignal) => this.#checkpoint.keep(signal),
      ];
      await runTogether(stop, stages, this.deps.onFailure);
    } catch (error) {
      if (!stop.aborted) throw error;
    }
    await this.#checkpoint.save();
  }

  /** Copy progress of each collection. */
  namespaceParts(): NamespacePart[] {
    return this.#followed.namespaceParts();
  }

  /** Sets the time below which the task knows all DDL changes; a smaller time changes nothing. */
  setDdlWatermark(time: bigint): void {
    this.#dispatcher.setDdlWatermark(time);
  }

  /** Sets the commit time: the task applies nothing later, unless a later commit time follows. */
  setCeiling(time: bigint): void {
    this.#commitTime = time;
    this.#dispatcher.setCeiling(time);
    this.#copier.limitTo(time);
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
    await this.#rereads.addParked(keys, () => this.#workers.flushed(this.#dispatcher.latest, signal));
    return true;
  }

  /** Stores that the task acknowledges all entries of the journal up to an ordinal: nothing of them is in flight. */
  async acknowledge(ordinal: number): Promise<void> {
    await this.#checkpoint.update({ acknowledged: ordinal });
  }

  /**
   * Resolves once everything up to the commit time is durable on the destination and no re-read is pending. The DDL
   * changes up to it are done, and the checkpoint is past it. Documents that a later DDL change makes unreadable at the
   * commit time do not hold it: another commit time follows.
   * @param isSuperseded whether this commit time no longer counts: it is too old, or the source is gone
   * @returns false when it is not drained because it no longer counts
   */
  async drain(time: bigint, isSuperseded: () => boolean, signal: AbortSignal): Promise<boolean> {
    this.setCeiling(time);
    while (!this.#isQuietUpTo(time)) {
      if (isSuperseded()) return false;
      await this.deps.runtime.clock.sleep(drainPoll_ms, signal);
    }
    await this.#checkpoint.save();
    return true;
  }

  #isQuietUpTo(time: bigint): boolean {
    const oldest = this.#workers.oldest();
    const routed =
      this.#dispatcher.position >= time && this.#dispatcher.readAgain && (oldest === null || oldest > time);
    const defined = this.ddlChanges.doneUpTo(time) && this.#unknown.size === 0;
    return routed && defined && !this.#rereads.anyUpTo(time) && this.#followed.copyDoneUpTo(time);
  }

  stats(): TaskStats {
    const { sourceTime, readBelow, writesAboveCeiling: above } = this.#dispatcher;
    const readings = this.#commitTime === null ? 0 : this.#followed.readingsAbove(this.#commitTime);
    return {
      ...copyStats(this.#followed.tables.values()),
      copyDone: this.#followed.copyDone && this.#rereads.ofRecordOrder === 0,
      eventsApplied: this.#eventsApplied,
      followsStream: this.#stream.isFollowed,
      lag_seconds: lagBehind(sourceTime, this.#checkpoint.time(), this.#commitTime),
      readLag_seconds: lagBehind(sourceTime, readBelow),
      readBelow,
      sourceWrites: this.#recentWrites.read(),
      hotDocuments: this.#workers.hotDocuments(),
      pendingRereads: this.#rereads.size,
      bufferedBytes: this.#budget.used + this.#copyBudget.used,
      writesAbove: { ...above, writes: above.writes + readings },
    };
  }

  #makeUnknown(): UnknownCollections {
    const reported = this.deps.record.unknown.filter(({ uuid }) => !this.#followed.isKnown(uuid));
    return new UnknownCollections(reported, async (unknown) => {
      await this.#checkpoint.update({ unknown });
      this.deps.wake();
    });
  }

  #makeWorkers(): ApplyWorkers {
    const { runtime, destination } = this.deps;
    return new ApplyWorkers(runtime.config.applyWorkers, {
      writer: this.#writers.apply,
      findPresent: presentOn(destination.router, runtime.retrying),
      rereads: this.#rereads,
      budget: this.#budget,
      applyWatermark: this.#applyWatermark,
      progressed: this.#progressed,
      clock: runtime.clock,
      onApplied: (events) => {
        this.#eventsApplied += events;
        runtime.metrics.appliedEvents.inc(events);
      },
    });
  }

  #makeDispatcher(startAt: bigint, watermark: bigint): EventDispatcher {
    const { collections, tables } = this.#followed;
    const deps = {
      collections,
      tables,
      applyWorkers: this.#workers,
      budget: this.#budget,
      watermark,
      onUnknownCollection: (...[database, name, event]: Parameters<UnknownCollections['saw']>) => {
        if (!this.#followed.isKnown(event.uuid)) this.#unknown.saw(database, name, event);
      },
      includes: this.deps.includes,
      recentWrites: this.#recentWrites,
    };
    return new EventDispatcher(deps, startAt, this.deps.record.lastWrite?.toBigInt() ?? 0n);
  }

  #makeRereader(): Rereader {
    const { runtime, source, destination } = this.deps;
    const relief = new RereadRelief({
      rereads: this.#rereads,
      clock: runtime.clock,
      tables: this.#followed.tables,
      latest: () => this.#dispatcher.latest,
      isSuspended: (uuid) => this.ddlChanges.isSuspended(uuid),
      isTaken: (partition) => this.#copier.isTaken(partition),
      onReopened: () => this.#copier.reopened(),
    });
    return new Rereader({
      shard: source.taskClient(this.deps.shardId),
      source: source.router,
      destination: destination.router,
      writer: this.#writers.reread,
      rereads: this.#rereads,
      applyWatermark: this.#applyWatermark,
      retrying: runtime.retrying,
      clock: runtime.clock,
      stream: this.#stream,
      mayRead: (entry) => this.#mayRead(entry),
      givenUp: () => relief.next(),
      release: (entry) => {
        runtime.metrics.rereads.inc({ reason: entry.reason });
        this.#workers.pushFirst(
          entry.buffered.map((event) => this.#dispatcher.routedAfterReread(event, entry.collection)),
        );
      },
    });
  }

  #copyDependencies(): CopyDependencies {
    const { runtime, source } = this.deps;
    return {
      shard: source.taskClient(this.deps.shardId),
      writer: this.#writers.copy,
      rereads: this.#rereads,
      retrying: runtime.retrying,
      clock: runtime.clock,
      rate: new ReadRate(runtime.clock, runtime.config.loadRateBytesPerSecond ?? null),
      budget: this.#copyBudget,
      stream: this.#stream,
      untilFlushed: (time, signal) => this.#workers.flushed(time, signal),
      release: (table, events) => this.#dispatcher.release(table, events),
      cappedEnds: new CappedEnds({ budget: this.#budget, stream: this.#stream }),
      recreate: (uuid, signal) => this.#recreate(uuid, signal),
      recordOrderLeft: (table, signal) => this.#leftRecordOrder(table, signal),
      partition_seconds: runtime.config.partition_seconds,
      readers: runtime.config.readers,
      concurrency: new CopyConcurrency(runtime.clock, runtime.config),
    };
  }

  #makeCheckpoint(startAt: bigint): TaskCheckpoint {
    const { runtime, records } = this.deps;
    const stages = {
      runtime,
      dispatcher: this.#dispatcher,
      applyWorkers: this.#workers,
      rereads: this.#rereads,
      followed: this.#followed,
      unknown: this.#unknown,
      progressed: this.#progressed,
      stats: () => this.stats(),
      update: (set: Partial<TaskRecord>) => records.update(this.taskId, this.epoch, set, this.hard),
    };
    return new TaskCheckpoint(stages, startAt);
  }

  #makeDdlChanges(): TaskDdl {
    return new TaskDdl({
      followed: this.#followed,
      unknown: this.#unknown,
      applyWorkers: this.#workers,
      copier: this.#copier,
      rereader: this.#rereader,
      rereads: this.#rereads,
      storage: this.#storage,
      begin: (followed, signal) => this.#follow(followed, signal),
    });
  }

  /** Starts to copy a collection. No read may be earlier than the dispatched position: its events were dropped. */
  async #follow(followed: FollowedEntry, signal: AbortSignal): Promise<void> {
    const task = this.deps.taskOf(followed);
    if (task === null) return;
    await this.#storage.claimCopies([task.copy]);
    const table = await this.#plan(task, signal);
    for (const partition of table.partitions) partition.raiseDropped(this.#dispatcher.latest);
    this.#followed.add(task, table);
    this.#copier.add(table);
  }

  /** The copy of an initial collection has its UUID as name; the copy of a recreated one has another name. */
  async #planFirst(task: TaskCollection, signal: AbortSignal): Promise<PartitionTable> {
    const isCopied = this.deps.beginsCopied && task.copy === task.entry.uuid;
    return isCopied
      ? copiedTable(task, this.deps.startTime, this.#storage.saverOf(task.copy))
      : this.#plan(task, signal);
  }

  #plan(task: TaskCollection, signal: AbortSignal) {
    return freshTable(
      task,
      this.deps.source.taskClient(this.deps.shardId),
      this.deps.runtime,
      this.#storage.saverOf(task.copy),
      signal,
      this.deps.detectBytesMin,
    );
  }

  async #leftRecordOrder({ collection, order }: PartitionTable, signal: AbortSignal): Promise<RawValue[]> {
    const { runtime, source, shardId } = this.deps;
    const task = this.#followed.taskOf(collection.uuid);
    if (task === null) return [];
    logLeftOrder(collection, order, runtime);
    return startsOf(task, source.taskClient(shardId), runtime, signal);
  }

  async #recreate(uuid: string, signal: AbortSignal): Promise<void> {
    const task = this.#followed.taskOf(uuid);
    if (task !== null) await this.deps.recreate(task.entry, () => this.#checkpoint.save(), signal);
  }

  /**
   * Only copied documents can be re-read. Not while their collection is suspended, and not at a time before that copy,
   * its present name, or what an earlier process has applied.
   */
  #mayRead({ collection, id }: RereadEntry): boolean {
    const partition = this.#followed.tables.get(collection.uuid)?.find(id);
    if (partition?.state !== 'done' || !this.#dispatcher.replayed || this.ddlChanges.isSuspended(collection.uuid))
      return false;
    return (partition.readTime ?? 0n) <= this.#dispatcher.position && collection.notBefore <= this.#dispatcher.position;
  }
}
