import type { Clock } from '../async/clock.js';

/** Limits the bytes read per second, to protect the source. */
export class ReadRate {
  #freeAt_ms = 0;

  /** @param bytesPerSecond null: no limit */
  constructor(
    private readonly clock: Clock,
    private readonly bytesPerSecond: number | null,
  ) {}

  /** Waits until the bytes just read are within the limit. */
  async spent(bytes: number, signal: AbortSignal): Promise<void> {
    if (this.bytesPerSecond === null) return;
    const now_ms = this.clock.monotonic_ms();
    const begin_ms = Math.max(now_ms, this.#freeAt_ms);
    this.#freeAt_ms = begin_ms + (bytes / this.bytesPerSecond) * 1000;
    const wait_ms = this.#freeAt_ms - now_ms;
    if (wait_ms > 1) await this.clock.sleep(wait_ms, signal);
  }
}
