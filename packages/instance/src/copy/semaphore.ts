/** Bounds the calls in flight; the others wait in order. The bound may change at any time. */
export class Semaphore {
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(private bound: number) {}

  set max(bound: number) {
    this.bound = bound;
    this.#admit();
  }

  /** Makes the call once it has its turn; rejects with the signal's reason when the signal aborts first. */
  async run<Result>(call: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
    signal.throwIfAborted();
    if (this.#inFlight < this.bound && this.#waiting.length === 0) this.#inFlight += 1;
    else await this.#turn(signal);
    try {
      return await call();
    } finally {
      this.#inFlight -= 1;
      this.#admit();
    }
  }

  #turn(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(admitted), 1);
        reject(signal.reason as Error);
      };
      const admitted = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(admitted);
    });
  }

  #admit(): void {
    while (this.#inFlight < this.bound) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#inFlight += 1;
      next();
    }
  }
}
