import type { ClusterClient } from '../cluster/node-client.js';
import type { Retrying } from '../cluster/retry.js';
import { Condition } from '../store/condition.js';
import { DdlStream } from './ddl-stream.js';
import { DdlTracker, type TrackerDependencies } from './ddl-tracker.js';
import type { FollowedCollection } from './followed-collections.js';

/** Dependencies of the DDL watcher. */
export interface DdlWatcherDependencies extends TrackerDependencies {
  source: Pick<ClusterClient, 'router' | 'version' | 'access' | 'kind' | 'shardIds' | 'shard'>;
  retrying: Retrying;
  /** Whether no event has been routed for a long time. */
  isIdle: () => boolean;
  /** Whether a commit waits for the DDL watermark. */
  isAwaited: () => boolean;
}

/**
 * Reads the source's DDL changes before any sync task needs them, and writes them to the journal. The journal holds
 * every change below the DDL watermark.
 */
export class DdlWatcher {
  readonly moved = new Condition();
  readonly #tracker: DdlTracker;
  #ddlWatermark: bigint;

  /** @param startAt everything below is known: the watermark that an earlier watcher stored, or the start time */
  constructor(
    private readonly deps: DdlWatcherDependencies,
    startAt: bigint,
  ) {
    this.#tracker = new DdlTracker(deps);
    this.#ddlWatermark = startAt;
  }

  /** The DDL watermark: all DDL changes below this time are in the journal. */
  get ddlWatermark(): bigint {
    return this.#ddlWatermark;
  }

  /** Collections that are created to replace others. */
  get arriving(): Iterable<FollowedCollection> {
    return this.#tracker.arriving.values();
  }

  /** Reads until the signal; rejects with the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    const { source, retrying, isIdle, isAwaited } = this.deps;
    const stream = new DdlStream(
      source,
      retrying,
      () => this.#ddlWatermark,
      () => this.#tracker.forget(),
      isIdle,
      isAwaited,
    );
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
    const ddlWatermark = first !== null && first < readBelow ? first : readBelow;
    if (ddlWatermark <= this.#ddlWatermark) return;
    this.#ddlWatermark = ddlWatermark;
    this.moved.changed();
  }
}
