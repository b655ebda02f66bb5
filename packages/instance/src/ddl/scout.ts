import type { Cluster } from '../cluster/door.js';
import type { Retrying } from '../cluster/retry.js';
import { Signalled } from '../store/signalled.js';
import { DefinitionStream } from './definition-stream.js';
import { DefinitionTracker, type TrackerContext } from './definition-tracker.js';
import type { FollowedCollection } from './followed-collections.js';

/** What the scout needs. */
export interface ScoutContext extends TrackerContext {
  source: Pick<Cluster, 'router' | 'version' | 'access' | 'kind' | 'shardIds' | 'shard'>;
  retrying: Retrying;
  /** Whether nobody has had anything to route for long. */
  isCalm: () => boolean;
  /** Whether a commit waits for the horizon. */
  isAwaited: () => boolean;
}

/**
 * Reads the source's definition changes ahead of everybody, and enters them into the journal. Everything below its horizon
 * is there.
 */
export class Scout {
  readonly moved = new Signalled();
  readonly #tracker: DefinitionTracker;
  #horizon: bigint;

  /** @param startAt everything below is known: where an earlier scout has stored its horizon, or the start time */
  constructor(
    private readonly context: ScoutContext,
    startAt: bigint,
  ) {
    this.#tracker = new DefinitionTracker(context);
    this.#horizon = startAt;
  }

  /** The time below which all definition changes are in the journal. */
  get horizon(): bigint {
    return this.#horizon;
  }

  /** Collections that are being made in the place of others. */
  get arriving(): Iterable<FollowedCollection> {
    return this.#tracker.arriving.values();
  }

  /** Reads until the signal; rejects with the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, retrying, isCalm, isAwaited } = this.context;
    const stream = new DefinitionStream(source, retrying, () => this.#horizon, () => this.#tracker.forget(), isCalm, isAwaited);
    try {
      for (;;) {
        const { events, readBelow } = await stream.next(signal);
        for (const event of events) await this.#tracker.take(event, signal);
        await this.#tracker.settle(readBelow, signal);
        this.#advance(readBelow);
      }
    } finally {
      await stream.close();
    }
  }

  #advance(readBelow: bigint): void {
    const first = this.#tracker.firstIncomplete;
    const horizon = first !== null && first < readBelow ? first : readBelow;
    if (horizon <= this.#horizon) return;
    this.#horizon = horizon;
    this.moved.changed();
  }
}
