import { listCollections } from '../../catalog/read/list-namespaces.js';
import type { ApplyWorkers } from '../../apply/apply-workers.js';
import type { EventDispatcher } from '../../apply/event-dispatcher.js';
import { ChangeStreamReader } from '../../apply/change-stream-reader.js';
import { currentTime, secondsOf, wakeStream } from '../../cluster/cluster-time.js';
import { CollectionAbsentError } from '../../cluster/failure.js';
import type { ByteBudget } from '../../async/waiting.js';
import type { ChangeEvent } from '../../store/change-event.js';
import type { PartitionTable } from '../../store/partition-table.js';
import type { RereadEntry } from '../../store/reread-set.js';
import type { RoutedStream } from '../../store/routed-stream.js';
import type { SyncedCollection } from '../../store/synced-collection.js';
import { readBehindMax_seconds } from '../stats/lag.js';
import type { SyncPipelineDependencies } from './pipeline-dependencies.js';

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
      throw new CollectionAbsentError(`${database}.${name} now names another collection, or none`);
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
