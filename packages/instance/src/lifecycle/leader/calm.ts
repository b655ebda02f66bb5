import type { Clock } from '../../cluster/clock.js';

/** Tells whether something that is looked at again and again has been the same for long. */
export class Calm {
  #seen: string | null = null;
  #since_ms = 0;

  /** @param after_ms how long it has to be the same */
  constructor(
    private readonly clock: Clock,
    private readonly after_ms: number,
  ) {}

  /** @param seen as it is now */
  isCalm(seen: string): boolean {
    const now_ms = this.clock.monotonic_ms();
    if (seen !== this.#seen) [this.#seen, this.#since_ms] = [seen, now_ms];
    return now_ms - this.#since_ms >= this.after_ms;
  }
}
