import { woken } from '../store/condition.js';

/** Bounds the calls in flight; the others wait in order. The bound may change at any time. */
export class Semaphore {
  #inFlight = 0;
  /** In the order of their turns. */
  readonly #waiting = new Set<() => void>();

  constructor(private bound: number) {}

  set max(bound: number) {
    this.bound = bound;
    this.#admit();
  }

  /** Makes the call once it has its turn; rejects with the signal's reason when the signal aborts first. */
  async run<Result>(call: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    if (this.#inFlight < this.bound && this.#waiting.size === 0) this.#inFlight += 1;
    else await woken(this.#waiting, signal);
    try {
      return await call();
    } finally {
      this.#inFlight -= 1;
      this.#admit();
    }
  }

  #admit(): void {
    while (this.#inFlight < this.bound) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#waiting.delete(next);
      this.#inFlight += 1;
      next();
    }
  }
}
