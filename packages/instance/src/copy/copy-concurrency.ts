import type { Clock } from '../async/clock.js';
import { Semaphore } from '../async/waiting.js';
import { type Concurrency, ConcurrencySearch } from './concurrency-search.js';

/** Long enough for dozens of batches, short enough to find the best concurrency within seconds. */
const window_ms = 1_000;
/** A longer pause would distort the throughput: the window restarts. */
const idle_ms = 500;

/** Bounds the reads and writes in flight of one sync task's copy to those with the best throughput, within limits. */
export class CopyConcurrency {
  readonly reads: Semaphore;
  readonly writes: Semaphore;
  readonly #search: ConcurrencySearch;
  #windowBegan_ms: number;
  #lastAcknowledged_ms: number;
  #bytes = 0;

  /**
   * @param max the limits, at least 1 each; the copy starts with them, since a small one ends before the first window
   */
  constructor(
    private readonly clock: Clock,
    max: Readonly<Concurrency>,
  ) {
    this.#search = new ConcurrencySearch(max);
    this.reads = new Semaphore(this.#search.concurrency.readers);
    this.writes = new Semaphore(this.#search.concurrency.writers);
    this.#windowBegan_ms = clock.monotonic_ms();
    this.#lastAcknowledged_ms = this.#windowBegan_ms;
  }

  get present(): Readonly<Concurrency> {
    return this.#search.concurrency;
  }

  /** Counts the bytes of an acknowledged write. */
  acknowledged(bytes: number): void {
    const now_ms = this.clock.monotonic_ms();
    const paused = now_ms - this.#lastAcknowledged_ms > idle_ms;
    this.#lastAcknowledged_ms = now_ms;
    if (paused) {
      this.#begin(now_ms);
      return;
    }
    this.#bytes += bytes;
    const elapsed_ms = now_ms - this.#windowBegan_ms;
    if (elapsed_ms < window_ms) return;
    this.#search.measured((this.#bytes * 1000) / elapsed_ms);
    this.reads.max = this.#search.concurrency.readers;
    this.writes.max = this.#search.concurrency.writers;
    this.#begin(now_ms);
  }

  #begin(now_ms: number): void {
    this.#windowBegan_ms = now_ms;
    this.#bytes = 0;
  }
}
