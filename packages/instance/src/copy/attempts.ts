import type { Clock } from '../async/clock.js';
import type { PartitionCopy } from './copy-dependencies.js';

/**
 * The copy of a partition fails after both bounds. The time is long because a renamed collection cannot be read at
 * earlier times, and the DDL journal shows the rename only once there is a leader.
 */
const attemptsMax = 10;
const attemptsFor_ms = 10 * 60_000;
/** Doubled after each attempt. The readable time of an idle shard advances with its no-ops, every 10 s by default. */
const pauseMin_ms = 250;
const pauseMax_ms = 10_000;

/** How to copy one partition. */
export interface Copying {
  /** Copies it once. A failed attempt leaves the partition waiting. */
  attempt: () => Promise<void>;
  /** Whether another attempt may succeed after this failure. */
  passes: (error: unknown) => boolean;
  tooMany: () => Error;
}

/**
 * Copies a partition in as many attempts as needed. Each attempt starts once the stream is not far behind.
 * @throws the failure of `attempt` that another attempt would meet again; `tooMany` after the last attempt
 */
export async function untilCopied(
  { deps, stop }: Pick<PartitionCopy, 'deps' | 'stop'>,
  { attempt, passes, tooMany }: Copying,
): Promise<void> {
  const attempts = new Attempts(deps.clock);
  for (;;) {
    await deps.stream.untilNear(stop);
    try {
      await attempt();
      return;
    } catch (error) {
      if (!passes(error)) throw error;
      if (!(await attempts.another(stop))) throw tooMany();
    }
  }
}

class Attempts {
  #made = 0;
  readonly #giveUpAt_ms: number;

  constructor(private readonly clock: Clock) {
    this.#giveUpAt_ms = clock.monotonic_ms() + attemptsFor_ms;
  }

  /** Waits after a failed attempt until the next one may start. Returns false after the last attempt. */
  async another(stop: AbortSignal): Promise<boolean> {
    this.#made += 1;
    if (this.#made >= attemptsMax && this.clock.monotonic_ms() >= this.#giveUpAt_ms) return false;
    await this.clock.sleep(Math.min(pauseMax_ms, pauseMin_ms * 2 ** (this.#made - 1)), stop);
    return true;
  }
}
