import type { Clock } from '../../../../src/async/clock.js';
import { untilAborted } from '../../model/scheduler.js';

interface Timer {
  readonly at_ms: number;
  readonly run: () => void;
}

/** Time that advances only while everyone waits for it. */
export class VirtualClock implements Clock {
  #now_ms = 0;
  #timers: Timer[] = [];

  constructor(readonly random: () => number) {}

  now_ms(): number {
    return this.#now_ms;
  }

  monotonic_ms(): number {
    return this.#now_ms;
  }

  sleep(duration_ms: number, signal: AbortSignal): Promise<void> {
    return untilAborted(signal, (resolve) =>
      this.#add({ at_ms: this.#now_ms + Math.max(0, duration_ms), run: () => resolve() }),
    );
  }

  /** Advances time until the promise is settled, and returns its outcome. */
  async run<T>(promise: Promise<T>): Promise<T> {
    const state = { settled: false };
    const settle = (): void => void (state.settled = true);
    promise.then(settle, settle);
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      if (state.settled) return promise;
      const next = this.#timers.shift();
      if (next === undefined) throw new Error('nothing more will happen, but somebody still waits');
      this.#now_ms = next.at_ms;
      next.run();
    }
  }

  #add(timer: Timer): void {
    const later = this.#timers.findIndex(({ at_ms }) => at_ms > timer.at_ms);
    this.#timers.splice(later === -1 ? this.#timers.length : later, 0, timer);
  }
}
