import type { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Clock } from '../cluster/clock.js';
import type { CopyDependencies } from './copy-dependencies.js';

/**
 * A partition that cannot be read after so many attempts, made over so long a time, never will be. What was renamed cannot
 * be read at earlier times either, and the journal tells of it only when a leader is there.
 */
const attemptsMax = 10;
const attemptsFor_ms = 10 * 60_000;
/** Pause before the next attempt, doubled each time: an idle shard's readable time moves with its ticks, every 10 s by default. */
const pauseMin_ms = 250;
const pauseMax_ms = 10_000;

/** How one partition is copied, again and again if need be. */
export interface Copying {
  /** Copies it; when that fails, the partition is left as an attempt finds it. */
  attempt: () => Promise<void>;
  /** Whether a failure is one that another attempt may not meet. */
  passes: (error: unknown) => boolean;
  tooMany: () => ConvoyError;
}

/**
 * Copies a partition in as many attempts as it takes, each once the stream is not far behind.
 * @throws what `attempt` throws and does not pass, `tooMany` when there have been enough
 */
export async function untilCopied(
  { attempt, passes, tooMany }: Copying,
  deps: Pick<CopyDependencies, 'clock' | 'untilReady'>,
  stop: AbortSignal,
): Promise<void> {
  const attempts = new Attempts(deps.clock);
  for (;;) {
    await deps.untilReady(stop);
    try {
      await attempt();
      return;
    } catch (error) {
      if (!passes(error)) throw error;
      if (!(await attempts.another(stop))) throw tooMany();
    }
  }
}

/** The attempts to copy one partition. */
class Attempts {
  #made = 0;
  readonly #giveUpAt_ms: number;

  constructor(private readonly clock: Clock) {
    this.#giveUpAt_ms = clock.monotonic_ms() + attemptsFor_ms;
  }

  /** After an attempt without result: waits until the next one may begin, or returns false when there have been enough. */
  async another(stop: AbortSignal): Promise<boolean> {
    this.#made += 1;
    if (this.#made >= attemptsMax && this.clock.monotonic_ms() >= this.#giveUpAt_ms) return false;
    await this.clock.sleep(Math.min(pauseMax_ms, pauseMin_ms * 2 ** (this.#made - 1)), stop);
    return true;
  }
}
