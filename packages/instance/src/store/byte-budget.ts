/**
 * Counts the bytes that buffers of one process hold and lets producers wait while there are too many.
 * Taking never waits: what was read must go somewhere; only the next read waits.
 */
export class ByteBudget {
  #used = 0;
  #waiters: (() => void)[] = [];

  constructor(readonly bytesMax: number) {}

  get used(): number {
    return this.#used;
  }

  get isFull(): boolean {
    return this.#used >= this.bytesMax;
  }

  take(bytes: number): void {
    this.#used += bytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
    if (this.isFull || this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  /** Resolves once less than the bound is in use; rejects with the signal's reason. */
  async untilFree(signal: AbortSignal): Promise<void> {
    while (this.isFull) {
      signal.throwIfAborted();
      await this.#wait(signal);
    }
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.push(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      });
    });
  }
}
