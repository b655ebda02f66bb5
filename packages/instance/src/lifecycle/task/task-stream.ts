import type { EventDispatcher } from '../../apply/event-dispatcher.js';
import { ChangeStreamReader } from '../../apply/change-stream-reader.js';
import { currentTime, secondsOf, wakeStream } from '../../cluster/cluster-time.js';
import type { ByteBudget } from '../../store/byte-budget.js';
import { readBehindMax_seconds } from '../stats/lag.js';
import type { SyncPipelineDependencies } from './pipeline-dependencies.js';

/** Reads the stream of a share for its router, as far ahead as the budget allows. */
export class TaskStream {
  /** @param startAt the first time to be read */
  constructor(
    private readonly input: Pick<SyncPipelineDependencies, 'runtime' | 'source' | 'shardId' | 'patience'>,
    private readonly stages: { dispatcher: EventDispatcher; budget: ByteBudget },
    private readonly startAt: bigint,
  ) {}

  /** The stream has said where it is. */
  get isFollowed(): boolean {
    return this.stages.dispatcher.heard;
  }

  /** The stream has said where it is, and that is not far behind the source. */
  get isNear(): boolean {
    const { sourceTime, readBelow } = this.stages.dispatcher;
    return this.isFollowed && secondsOf(sourceTime) - secondsOf(readBelow) <= readBehindMax_seconds;
  }

  /** Reads and routes until the stop signal. */
  async run(stop: AbortSignal): Promise<void> {
    const { runtime, source, shardId, patience } = this.input;
    const { dispatcher, budget } = this.stages;
    await this.#wake(stop);
    const stream = new ChangeStreamReader(
      source.taskClient(shardId),
      source.version,
      runtime.retrying,
      this.startAt,
      patience,
    );
    try {
      for (;;) {
        await budget.untilFree(stop);
        const step = await stream.next(stop);
        runtime.metrics.readEvents.inc(step.events.length);
        dispatcher.route(step);
      }
    } finally {
      await stream.close();
    }
  }

  /** The last event of a shard that falls idle is passed by the position only with the next tick: a note brings it at once. */
  async untilRouted(time: bigint, signal: AbortSignal): Promise<void> {
    await this.#untilRoutedOr(() => false, time, signal);
  }

  /** The same, or until the bound of what is held is reached and the stream is not read. @returns whether it was routed */
  async untilRoutedOrFull(time: bigint, signal: AbortSignal): Promise<boolean> {
    const { dispatcher, budget } = this.stages;
    await this.#untilRoutedOr(() => budget.isFull, time, signal);
    return dispatcher.position >= time;
  }

  /**
   * Resolves once all definition changes are known and heeded that an answer so far may have shown, or all up to the commit time.
   * @returns false when later ones may have been shown, of which nobody is told before a later commit time is set
   */
  async untilKnown(signal: AbortSignal): Promise<boolean> {
    const { runtime, source } = this.input;
    const { dispatcher } = this.stages;
    const time = await runtime.retrying('ask for the time', () => currentTime(source.router, { signal }), signal);
    await this.#wake(signal);
    await dispatcher.moved.until(() => dispatcher.knows(time) || dispatcher.knowsAllToCommit, signal);
    return dispatcher.knows(time);
  }

  async #untilRoutedOr(other: () => boolean, time: bigint, signal: AbortSignal): Promise<void> {
    const { dispatcher } = this.stages;
    if (dispatcher.position >= time) return;
    await this.#wake(signal);
    await dispatcher.moved.until(() => dispatcher.position >= time || other(), signal);
  }

  /** An idle shard would say where its stream is only with the server's next tick. */
  async #wake(signal: AbortSignal): Promise<void> {
    const { runtime, source, shardId } = this.input;
    await runtime.retrying('append an oplog note', () => wakeStream(source, shardId, { signal }), signal);
  }
}
