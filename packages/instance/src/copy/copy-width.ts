import type { Clock } from '../cluster/clock.js';
import { Permits } from './permits.js';
import { type Width, WidthSearch } from './width-search.js';

/** Long enough for some dozens of batches, short enough to find the best width within seconds. */
const window_ms = 1_000;
/** A pause of this length is not the copy's throughput: the window begins anew. */
const idle_ms = 500;

/** How many reads and writes of a share's copy are in flight at once: as many as bring the best throughput, within limits. */
export class CopyWidth {
  readonly reads: Permits;
  readonly writes: Permits;
  readonly #search: WidthSearch;
  #windowBegan_ms: number;
  #lastAcknowledged_ms: number;
  #bytes = 0;

  /** @param max the limits, at least 1 each; the copy begins with them, since a small one is over before anything was measured */
  constructor(
    private readonly clock: Clock,
    max: Readonly<Width>,
  ) {
    this.#search = new WidthSearch(max);
    this.reads = new Permits(this.#search.width.readers);
    this.writes = new Permits(this.#search.width.writers);
    this.#windowBegan_ms = clock.monotonic_ms();
    this.#lastAcknowledged_ms = this.#windowBegan_ms;
  }

  get present(): Readonly<Width> {
    return this.#search.width;
  }

  /** Counts what a write has brought to the destination. */
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
    this.reads.max = this.#search.width.readers;
    this.writes.max = this.#search.width.writers;
    this.#begin(now_ms);
  }

  #begin(now_ms: number): void {
    this.#windowBegan_ms = now_ms;
    this.#bytes = 0;
  }
}
