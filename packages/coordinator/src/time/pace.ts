/** Gaps count for at least this long, and at most twice as long. */
const WINDOW_MS = 60_000;
/** Gaps per silence limit, so that two signs of life may be missed. */
const GAPS_PER_LIMIT = 3;
/** Maximum silence limit, as a multiple of a fast process's; a longer gap was an outage. */
const SLOWNESS_MAX = 12;

/**
 * Measures the interval between signs of life, and so how long silence is normal: a process that gets a tenth of its
 * processor takes ten times as long, and is not dead.
 */
export class Pace {
  #last_ms: number | null = null;
  #windowEnds_ms = Number.NEGATIVE_INFINITY;
  #longest_ms = 0;
  #longestBefore_ms = 0;

  /** @param fast_ms the silence limit of fast processes, in milliseconds */
  constructor(private readonly fast_ms: number) {}

  /** Records a sign of life at a time of the monotonic clock. */
  beat(at_ms: number): void {
    if (at_ms >= this.#windowEnds_ms) {
      this.#longestBefore_ms = at_ms < this.#windowEnds_ms + WINDOW_MS ? this.#longest_ms : 0;
      this.#longest_ms = 0;
      this.#windowEnds_ms = at_ms + WINDOW_MS;
    }
    this.#longest_ms = Math.max(this.#longest_ms, this.#gap_ms(at_ms));
    this.#last_ms = at_ms;
  }

  /** Discards the current gap: nothing could arrive, or nothing was expected. */
  pause(): void {
    this.#last_ms = null;
  }

  /**
   * How long silence may last after a sign of life.
   * @param at_ms time of that sign, by the monotonic clock; the gap before it counts too
   * @returns whole milliseconds: three of the longest gaps of the last minutes, and at least the limit of fast
   * processes
   */
  limit_ms(at_ms: number): number {
    const gap_ms = Math.max(this.#longest_ms, this.#longestBefore_ms, this.#gap_ms(at_ms));
    return Math.max(this.fast_ms, Math.ceil(Math.min(GAPS_PER_LIMIT * gap_ms, SLOWNESS_MAX * this.fast_ms)));
  }

  #gap_ms(at_ms: number): number {
    const gap_ms = this.#last_ms === null ? 0 : at_ms - this.#last_ms;
    return gap_ms > 0 && gap_ms <= SLOWNESS_MAX * this.fast_ms ? gap_ms : 0;
  }
}
