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
function woken(waiters: Set<() => void>, signal: AbortSignal): Promise<void> {
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

/**
 * Resolves once one of several waits does, and ends the others; rejects with the signal's reason, or with the first
 * failure.
 */
export async function untilFirst(
  waits: readonly ((signal: AbortSignal) => Promise<unknown>)[],
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const over = new AbortController();
  const end = (): void => over.abort(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    await Promise.race(waits.map(async (wait) => wait(over.signal)));
  } finally {
    signal.removeEventListener('abort', end);
    over.abort();
  }
}

/** Runs calls one after the other, in order. A failure does not affect later calls. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();

  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }
}

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

/**
 * Counts the bytes in the buffers of one process. Producers wait while there are too many.
 * `take` never waits, because its bytes are in memory already; only the next read waits.
 */
export class ByteBudget {
  #used = 0;
  readonly #given = new Condition();

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
    if (!this.isFull) this.#given.changed();
  }

  /** Resolves once fewer bytes than the bound are in use; rejects with the signal's reason. */
  async untilFree(signal: AbortSignal): Promise<void> {
    if (this.isFull) await this.#given.until(() => !this.isFull, signal);
  }
}
