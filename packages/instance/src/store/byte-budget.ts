/**
 * Counts the bytes in the buffers of one process. Producers wait while there are too many.
 * `take` never waits, because its bytes are in memory already; only the next read waits.
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

  /** Resolves once fewer bytes than the bound are in use; rejects with the signal's reason. */
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
