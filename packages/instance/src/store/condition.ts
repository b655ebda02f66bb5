/** Wakes those who wait for a state to change: the one way in which stations of a share wait for each other. */
export class Condition {
  #waiters = new Set<() => void>();

  /** Tells all waiters to look again. */
  changed(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  /** Resolves once the condition holds, looking after every `changed`; rejects with the signal's reason. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (condition()) return;
      await this.#next(signal);
    }
  }

  #next(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(wake);
        reject(signal.reason as Error);
      };
      const wake = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(wake);
    });
  }
}
