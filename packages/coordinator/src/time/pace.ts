/** Gaps count for so long at least, and for twice as long at most. */
const WINDOW_MS = 60_000;
/** A limit for silence is so many gaps long, so that two signs of life may be missed. */
const GAPS_PER_LIMIT = 3;
/** However slow a process is, its silence has a limit of so many times that of a fast one; a gap above it was an outage. */
const SLOWNESS_MAX = 12;

/**
 * How long it takes from one sign of life to the next, and so how long silence may last before it says something: a process
 * that gets a tenth of its processor takes ten times as long, and is not dead.
 */
export class Pace {
  readonly #fast_ms: number;
  #last_ms: number | null = null;
  #windowEnds_ms = Number.NEGATIVE_INFINITY;
  #longest_ms = 0;
  #longestBefore_ms = 0;

  /** @param fast_ms the limit for silence where nothing is slow, in milliseconds */
  constructor(fast_ms: number) {
    this.#fast_ms = fast_ms;
  }

  /** Takes a sign of life at a time of the monotonic clock. */
  beat(at_ms: number): void {
    if (at_ms >= this.#windowEnds_ms) {
      this.#longestBefore_ms = at_ms < this.#windowEnds_ms + WINDOW_MS ? this.#longest_ms : 0;
      this.#longest_ms = 0;
      this.#windowEnds_ms = at_ms + WINDOW_MS;
    }
    this.#longest_ms = Math.max(this.#longest_ms, this.#gap_ms(at_ms));
    this.#last_ms = at_ms;
  }

  /** The gap that is under way does not count: nothing could be heard, or nothing was to be. */
  pause(): void {
    this.#last_ms = null;
  }

  /**
   * How long silence may last that follows a sign of life.
   * @param at_ms when it is given, by the monotonic clock: the gap before it counts too
   * @returns whole milliseconds: three of the longest gaps of the last minutes, but not less than where nothing is slow
   */
  limit_ms(at_ms: number): number {
    const gap_ms = Math.max(this.#longest_ms, this.#longestBefore_ms, this.#gap_ms(at_ms));
    return Math.max(this.#fast_ms, Math.ceil(Math.min(GAPS_PER_LIMIT * gap_ms, SLOWNESS_MAX * this.#fast_ms)));
  }

  #gap_ms(at_ms: number): number {
    const gap_ms = this.#last_ms === null ? 0 : at_ms - this.#last_ms;
    return gap_ms > 0 && gap_ms <= SLOWNESS_MAX * this.#fast_ms ? gap_ms : 0;
  }
}
