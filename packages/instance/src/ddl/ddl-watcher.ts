import type { ClusterClient } from '../cluster/node-client.js';
import type { Retrying } from '../async/retry.js';
import type { StreamPlace } from '../cluster/change-stream.js';
import { Condition } from '../async/waiting.js';
import type { StreamPatience } from '../store/change-event.js';
import { DdlStream } from './ddl-stream.js';
import type { DdlTracker } from './ddl-tracker.js';
import type { FollowedCollection } from './followed-collections.js';

/**
 * Reads the source's DDL changes before any sync task needs them, and writes them to the journal. The journal holds
 * every change below the DDL watermark.
 */
export class DdlWatcher {
  readonly moved = new Condition();
  #ddlWatermark: bigint;
  readonly #stream: DdlStream;

  /** @param startAt everything below is known: the watermark that an earlier watcher stored, or the start time */
  constructor(
    private readonly tracker: DdlTracker,
    source: ClusterClient,
    retrying: Retrying,
    patience: StreamPatience,
    startAt: bigint,
    place?: StreamPlace,
  ) {
    this.#ddlWatermark = startAt;
    this.#stream = new DdlStream(
      source,
      retrying,
      () => this.#ddlWatermark,
      () => tracker.forget(),
      patience,
      place,
    );
  }

  /** The DDL watermark: all DDL changes below this time are in the journal. */
  get ddlWatermark(): bigint {
    return this.#ddlWatermark;
  }

  /** Collections that are created to replace others. */
  get arriving(): Iterable<FollowedCollection> {
    return this.tracker.arriving.values();
  }

  /** Resolves once all DDL changes up to a time are in the journal. */
  async untilKnown(time: bigint, signal: AbortSignal): Promise<void> {
    await this.moved.until(() => this.#ddlWatermark > time, signal);
  }

  /** Reads until the signal; rejects with the first failure. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const { events, readBelow } = await this.#stream.next(signal);
        for (const event of events) await this.tracker.take(event, signal);
        await this.tracker.settle(readBelow, signal);
        this.#advance(readBelow);
      }
    } finally {
      await this.#stream.close();
    }
  }

  #advance(readBelow: bigint): void {
    const first = this.tracker.firstIncomplete;
    const ddlWatermark = first !== null && first < readBelow ? first : readBelow;
    if (ddlWatermark <= this.#ddlWatermark) return;
    this.#ddlWatermark = ddlWatermark;
    this.moved.changed();
  }
}
