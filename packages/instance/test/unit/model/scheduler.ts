import type { Clock } from '../../../src/async/clock.js';

/** A generator of numbers from 0 to 1 that gives the same sequence for the same seed (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A promise that rejects with the signal's reason when it is aborted before. */
export function untilAborted<T>(
  signal: AbortSignal,
  begin: (resolve: (value: T) => void, reject: (error: Error) => void) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = (): void => signal.removeEventListener('abort', onAbort);
    begin(
      (value) => {
        settled();
        resolve(value);
      },
      (error) => {
        settled();
        reject(error);
      },
    );
  });
}

/** Longer pauses are granted without moving the clock, so that they do not use up the patience of retries. */
const movingPauseMax_ms = 5000;

/**
 * Decides what happens next among everything that could: calls that arrive, answers that arrive, pauses that end.
 * One seed is one interleaving.
 */
export class Scheduler implements Clock {
  #pending: (() => void)[] = [];
  #now_ms = 0;

  constructor(readonly random: () => number) {}

  enqueue(run: () => void): void {
    this.#pending.push(run);
  }

  /** Lets one pending thing happen and everything that follows from it alone. */
  async step(): Promise<void> {
    const index = Math.floor(this.random() * this.#pending.length);
    const [run] = this.#pending.splice(index, 1);
    run?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  now_ms(): number {
    return this.#now_ms;
  }

  monotonic_ms(): number {
    return this.#now_ms;
  }

  sleep(duration_ms: number, signal: AbortSignal): Promise<void> {
    return untilAborted(signal, (resolve) => {
      this.enqueue(() => {
        if (duration_ms <= movingPauseMax_ms) this.#now_ms += duration_ms;
        resolve();
      });
    });
  }

  /** True once in `1 / probability` calls. */
  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** An integer from `min` to `max`, both inclusive. */
  between(min: number, max: number): number {
    return min + Math.floor(this.random() * (max - min + 1));
  }
}
