import type { CallOptions, RawBatch, RawCursor } from './node-client.js';
import { ResumableCursor } from './resumable-cursor.js';
import { type StreamPlace, StreamWatch } from './stream-watch.js';
import type { Wait } from '../async/clock.js';

/** The cursor of a change stream, which is opened again after a failure, and when the stream stands still. */
export class WatchedStream {
  readonly #cursor: ResumableCursor;
  readonly #watch: StreamWatch;

  /**
   * @param startAt the first time to read
   * @param reopen opens the stream where it continues: behind everything that its reader has received
   */
  constructor(place: StreamPlace, wait: Wait, startAt: bigint, reopen: (signal: AbortSignal) => Promise<RawCursor>) {
    this.#watch = new StreamWatch(place, wait, startAt);
    this.#cursor = new ResumableCursor(reopen);
  }

  /**
   * Fetches the next batch; after a failure, or `close`, the first one of a new cursor.
   * @throws the server's error
   */
  async next(options: CallOptions): Promise<RawBatch> {
    this.#watch.asked();
    const batch = await this.#cursor.next(options);
    if (this.#watch.answered(batch)) await this.#cursor.close();
    return batch;
  }

  /** Closes the cursor on the server, for the next batch to open it anew; never throws. */
  reopenNext(): Promise<void> {
    return this.#cursor.close();
  }

  /** Closes the cursor on the server; never throws. */
  async close(): Promise<void> {
    this.#watch.close();
    await this.#cursor.close();
  }
}
