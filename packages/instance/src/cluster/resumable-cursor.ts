import type { CallOptions, RawBatch, RawCursor } from './node-client.js';

/** A cursor that is opened again after a failure. Its owner knows where: behind everything that it has received. */
export class ResumableCursor {
  #cursor: RawCursor | null = null;

  /** @param reopen opens the cursor where it continues; called for the first batch too */
  constructor(private readonly reopen: (signal: AbortSignal) => Promise<RawCursor>) {}

  /** False once the server reports the end. */
  get open(): boolean {
    return this.#cursor?.open === true;
  }

  /**
   * Fetches the next batch; after a failure, or `close`, the first one of a new cursor.
   * @throws the server's error
   */
  async next(options: CallOptions): Promise<RawBatch> {
    try {
      if (this.#cursor !== null) return await this.#cursor.next(options);
      this.#cursor = await this.reopen(options.signal);
      return this.#cursor.first;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Closes the cursor on the server; never throws. */
  async close(): Promise<void> {
    const cursor = this.#cursor;
    this.#cursor = null;
    await cursor?.close();
  }
}
