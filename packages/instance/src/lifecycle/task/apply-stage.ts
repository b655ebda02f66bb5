import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { ApplyWorkers } from '../../apply/apply-workers.js';
import { ChangeStreamReader } from '../../apply/change-stream-reader.js';
import { EventDispatcher } from '../../apply/event-dispatcher.js';
import { RecentWrites } from '../../apply/recent-writes.js';
import { presentOn } from '../../apply/send-batch.js';
import { type ByteBudget, Condition } from '../../async/waiting.js';
import { listCollections } from '../../catalog/list-namespaces.js';
import { currentTime, secondsOf, timestampOf, wakeStream } from '../../cluster/cluster-time.js';
import { CollectionAbsentError } from '../../cluster/failure.js';
import { shownName } from '../../cluster/time-series.js';
import type { ChangeEvent, RoutedStream } from '../../store/change-event.js';
import type { FencedWriter } from '../../store/fenced-writer.js';
import type { PartitionTable } from '../../store/partition-table.js';
import type { RereadEntry, RereadSet } from '../../store/reread-set.js';
import type { SyncedCollection } from '../../store/synced-collection.js';
import { ApplyWatermark, type TaskRecord } from '../../store/task-record.js';
import type { TaskTables } from './followed-collections.js';
import type { SyncPipelineDependencies } from './sync-pipeline.js';
import type { OwnedRecord } from './task-checkpoint.js';
import { readBehindMax_seconds } from './task-stats.js';

/** What the stages of a sync task have in common. */
export interface TaskState {
  record: OwnedRecord;
  followed: TaskTables;
  rereads: RereadSet;
  /** Bounds the bytes of buffered events. */
  budget: ByteBudget;
  writer: FencedWriter;
}

/** The way of a sync task's changes: its stream, its dispatcher and its apply workers. */
export class ApplyStage {
  /** Signalled after every write batch and every checkpoint. */
  readonly progressed = new Condition();
  readonly unknown: UnknownCollections;
  readonly watermark: ApplyWatermark;
  readonly recentWrites: RecentWrites;
  readonly workers: ApplyWorkers;
  readonly dispatcher: EventDispatcher;
  readonly stream: TaskStream;
  #eventsApplied: number;

  /** @param startAt the first cluster time to read */
  constructor(
    private readonly deps: SyncPipelineDependencies,
    private readonly state: TaskState,
    startAt: bigint,
  ) {
    const { record, startTime, runtime } = deps;
    this.#eventsApplied = record.eventsApplied;
    this.recentWrites = new RecentWrites(runtime.clock);
    this.unknown = this.#makeUnknown();
    const watermark = record.applyWatermark?.toBigInt() ?? startTime - 1n;
    this.watermark = new ApplyWatermark(
      watermark,
      (time) => state.record.update({ applyWatermark: timestampOf(time) }),
      () => this.dispatcher.readBelow,
    );
    this.workers = this.#makeWorkers();
    this.dispatcher = this.#makeDispatcher(startAt, watermark);
    this.stream = new TaskStream(deps, this.dispatcher, this.workers, state.budget, startAt);
  }

  /** By this process and earlier ones. */
  get eventsApplied(): number {
    return this.#eventsApplied;
  }

  /** Whether everything up to a time is routed and durable, and all that an earlier process may have sent is read. */
  isQuietUpTo(time: bigint): boolean {
    const oldest = this.workers.oldest();
    return this.dispatcher.position >= time && this.dispatcher.isReadAgain && (oldest === null || oldest > time);
  }

  #makeUnknown(): UnknownCollections {
    const { record, fleet } = this.deps;
    const reported = record.unknown.filter(({ uuid }) => !this.state.followed.isKnown(uuid));
    return new UnknownCollections(reported, async (unknown) => {
      await this.state.record.update({ unknown });
      fleet.wake();
    });
  }

  #makeWorkers(): ApplyWorkers {
    const { runtime, destination } = this.deps;
    const { rereads, budget, writer } = this.state;
    return new ApplyWorkers(runtime.config.applyWorkers, {
      writer,
      findPresent: presentOn(destination.router, runtime.retrying),
      rereads,
      budget,
      applyWatermark: this.watermark,
      progressed: this.progressed,
      clock: runtime.clock,
      onApplied: (events) => {
        this.#eventsApplied += events;
        runtime.metrics.appliedEvents.inc(events);
      },
    });
  }

  #makeDispatcher(startAt: bigint, watermark: bigint): EventDispatcher {
    const { filter, record } = this.deps;
    const { followed, budget } = this.state;
    const { collections, tables } = followed;
    const deps = {
      collections,
      tables,
      applyWorkers: this.workers,
      budget,
      sentUpTo: watermark,
      onUnknownCollection: (database: string, name: string, event: ChangeEvent) => {
        if (!followed.isKnown(event.uuid)) this.unknown.saw(database, name, event);
      },
      filter,
      recentWrites: this.recentWrites,
    };
    return new EventDispatcher(deps, startAt, record.lastWrite?.toBigInt() ?? 0n);
  }
}

/** A stream that answers within this time is not silent: an idle one is asked for a second at a time. */
const silentAfter_ms = 3_000;

/** Reads the stream of a sync task for its dispatcher, as far ahead as the budget allows. */
export class TaskStream implements RoutedStream {
  /** When the stream began or last answered, by the monotonic clock; null before. */
  #heard_ms: number | null = null;

  /** @param startAt the first cluster time to read */
  constructor(
    private readonly deps: SyncPipelineDependencies,
    private readonly dispatcher: EventDispatcher,
    private readonly workers: ApplyWorkers,
    private readonly budget: ByteBudget,
    private readonly startAt: bigint,
  ) {}

  get position(): bigint {
    return this.dispatcher.position;
  }

  /** The source's time. It goes on while the stream does not answer, or is not read because the destination is slow. */
  get sourceTime(): bigint {
    const now_ms = this.deps.runtime.clock.monotonic_ms();
    const silent_ms = Math.max(0, now_ms - (this.#heard_ms ?? now_ms) - silentAfter_ms);
    return this.dispatcher.sourceTime + (BigInt(Math.floor(silent_ms / 1000)) << 32n);
  }

  /** The stream has shown its position. */
  get isFollowed(): boolean {
    return this.dispatcher.heard;
  }

  /** The stream has shown its position, and it is not far behind the source. */
  get isNear(): boolean {
    const { sourceTime, readBelow } = this.dispatcher;
    return this.isFollowed && secondsOf(sourceTime) - secondsOf(readBelow) <= readBehindMax_seconds;
  }

  async untilNear(signal: AbortSignal): Promise<void> {
    await this.dispatcher.moved.until(() => this.isNear, signal);
  }

  /** Reads and dispatches until the stop signal. */
  async run(stop: AbortSignal): Promise<void> {
    const { runtime, source, shardId, patience } = this.deps;
    const { dispatcher, budget, workers } = this;
    this.#heard_ms = runtime.clock.monotonic_ms();
    await this.#wake(stop);
    const stream = new ChangeStreamReader(
      source.taskClient(shardId),
      source.version,
      runtime.retrying,
      this.startAt,
      patience,
      runtime,
    );
    try {
      for (;;) {
        await budget.untilFree(stop);
        await workers.untilRoom(stop);
        const step = await stream.next(stop);
        this.#heard_ms = runtime.clock.monotonic_ms();
        runtime.metrics.readEvents.inc(step.events.length);
        dispatcher.route(step);
      }
    } finally {
      await stream.close();
    }
  }

  /**
   * When a shard becomes idle, the position passes its last event only with the next periodic no-op. A note advances it
   * at once.
   */
  async untilRouted(time: bigint, signal: AbortSignal): Promise<void> {
    await this.#untilRoutedOr(() => false, time, signal);
  }

  async untilRoutedOrFull(time: bigint, signal: AbortSignal): Promise<boolean> {
    const { dispatcher, budget } = this;
    await this.#untilRoutedOr(() => budget.isFull, time, signal);
    return dispatcher.position >= time;
  }

  /** Beyond the commit time no DDL change is published, so the task resolves the name once more. */
  async untilNamed({ database, name, uuid }: SyncedCollection, signal: AbortSignal): Promise<void> {
    if (await this.#untilKnown(signal)) return;
    const { runtime, source } = this.deps;
    const listed = await runtime.retrying(
      'resolve a name',
      () => listCollections(source.router, database, signal, name),
      signal,
    );
    if (!listed.some((one) => one.uuid === uuid))
      throw new CollectionAbsentError(`${shownName({ database, name })} now names another collection, or none`);
  }

  /**
   * Resolves once the task knows all DDL changes that an answer so far may have shown, or all up to the commit time,
   * and has suspended their collections.
   * @returns false when the stream may have shown later ones, which nobody publishes before a later commit time
   */
  async #untilKnown(signal: AbortSignal): Promise<boolean> {
    const { runtime, source } = this.deps;
    const { dispatcher } = this;
    const time = await runtime.retrying('read the cluster time', () => currentTime(source.router, { signal }), signal);
    await this.#wake(signal);
    await dispatcher.moved.until(() => dispatcher.knows(time) || dispatcher.knowsAllToCommit, signal);
    return dispatcher.knows(time);
  }

  async untilFlushed(time: bigint, signal: AbortSignal): Promise<void> {
    await this.workers.flushed(time, signal);
  }

  release(table: PartitionTable, events: readonly ChangeEvent[]): void {
    this.dispatcher.release(table, events);
  }

  releaseReread({ reason, buffered, collection }: RereadEntry): void {
    this.deps.runtime.metrics.rereads.inc({ reason });
    this.workers.pushFirst(buffered.map((event) => this.dispatcher.routedAfterReread(event, collection)));
  }

  async #untilRoutedOr(other: () => boolean, time: bigint, signal: AbortSignal): Promise<void> {
    const { dispatcher } = this;
    if (dispatcher.position >= time) return;
    await this.#wake(signal);
    await dispatcher.moved.until(() => dispatcher.position >= time || other(), signal);
  }

  /** An idle shard would show its position only with the server's next periodic no-op. */
  async #wake(signal: AbortSignal): Promise<void> {
    const { runtime, source, shardId } = this.deps;
    await runtime.retrying('append an oplog note', () => wakeStream(source, shardId, { signal }), signal);
  }
}

type UnknownCollection = TaskRecord['unknown'][number];

/** Bound within one record, which stays far below 16 MB; the leader makes an entry of each within moments. */
const reportedMax = 1_000;
/** More new collections at once are not an ordinary use. */
const waitingMax = 100_000;

/**
 * Collections that a server fills and renames: aggregations with `$out`, `convertToCapped`, renames across databases.
 */
const temporaryNames = /^tmp\.(agg_out|mr)\.|^tmp[^.]*\.(convertToCapped|renameCollection)/;

/**
 * Collections of included namespaces that the stream shows and nobody follows yet. The task's record names them until
 * the journal has them. Only once that is durable does the checkpoint pass an event of one: after a restart the stream
 * would not show it again.
 */
export class UnknownCollections {
  readonly #reported = new Map<string, UnknownCollection>();
  /** Not reported yet, with the time of the first event. */
  readonly #waiting = new Map<string, UnknownCollection & { time: bigint }>();
  readonly #changed = new Condition();

  /**
   * @param reported the names already in the record
   * @param save stores the whole list in the record, durably
   */
  constructor(
    reported: readonly UnknownCollection[],
    private readonly save: (unknown: UnknownCollection[]) => Promise<void>,
  ) {
    for (const one of reported) this.#reported.set(one.uuid, one);
  }

  /** Number of collections that are not followed yet. */
  get size(): number {
    return this.#reported.size + this.#waiting.size;
  }

  /** Time of the earliest event of an unreported collection. */
  get oldestWaiting(): bigint | null {
    for (const { time } of this.#waiting.values()) return time;
    return null;
  }

  /** @throws ConvoyError `memoryBoundExceeded` when there are too many */
  saw(database: string, name: string, { uuid, time }: ChangeEvent): void {
    if (this.#reported.has(uuid) || this.#waiting.has(uuid) || temporaryNames.test(name)) return;
    if (this.#waiting.size >= waitingMax)
      throw new ConvoyError(
        'memoryBoundExceeded',
        `More than ${waitingMax} collections were created on the source at once.`,
      );
    this.#waiting.set(uuid, { uuid, database, name, time });
    this.#changed.changed();
  }

  /** The journal now has the collection. */
  resolve(uuid: string): void {
    this.#waiting.delete(uuid);
    this.#reported.delete(uuid);
    this.#changed.changed();
  }

  /** Reports new collections until the stop signal; several at once are one write. */
  async run(stop: AbortSignal): Promise<void> {
    for (;;) {
      await this.#changed.until(() => this.#waiting.size > 0 && this.#reported.size < reportedMax, stop);
      const announced = [...this.#waiting.values()].slice(0, reportedMax - this.#reported.size);
      for (const { uuid, database, name } of announced) this.#reported.set(uuid, { uuid, database, name });
      await this.save([...this.#reported.values()]);
      for (const { uuid } of announced) this.#waiting.delete(uuid);
    }
  }
}
