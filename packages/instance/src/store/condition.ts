/** Wakes waiters when a state may have changed. The stages of a sync task wait for each other in this way only. */
export class Condition {
  readonly #waiters = new Set<() => void>();

  /** Wakes all waiters, which check their conditions again. */
  changed(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const wake of waiters) wake();
  }

  /** Resolves once the condition holds, checked after every `changed`; rejects with the signal's reason. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      if (condition()) return;
      await woken(this.#waiters, signal);
    }
  }
}

/** Joins those who wait, in order, until one takes the call out and makes it; rejects with the signal's reason. */
export function woken(waiters: Set<() => void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      waiters.delete(wake);
      reject(signal.reason as Error);
    };
    const wake = (): void => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    waiters.add(wake);
  });
}
