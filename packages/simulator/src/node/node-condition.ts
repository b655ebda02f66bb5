import { setTimeout as delay } from 'node:timers/promises';

/** How well a node's process and machine do, as faults set it. What it is depends on nothing that the node has stored. */
export class NodeCondition {
  /** Milliseconds that every command takes longer. */
  delayMs = 0;
  #running = true;
  #paused = false;
  readonly #waiters = new Set<() => void>();

  /** False while the process is stopped. */
  get running(): boolean {
    return this.#running;
  }

  /** True while the process stands still: it accepts connections and never answers. */
  get paused(): boolean {
    return this.#paused;
  }

  setRunning(running: boolean): void {
    this.#running = running;
    this.#wake();
  }

  setPaused(paused: boolean): void {
    this.#paused = paused;
    this.#wake();
  }

  /** Holds a command up as the condition demands; resolves early when the signal aborts. */
  async hold(signal: AbortSignal): Promise<void> {
    if (this.delayMs > 0) await delay(this.delayMs, undefined, { signal }).catch(() => undefined);
    await this.awake(signal);
  }

  /** Resolves as soon as the node is not paused. */
  async awake(signal: AbortSignal): Promise<void> {
    while (this.#paused && this.#running && !signal.aborted) await this.change(undefined, signal);
  }

  /** Wakes those who wait for a change, for changes that are not this object's own. */
  notify(): void {
    this.#wake();
  }

  /** Resolves at the next change, after the time (undefined for no limit), or when the signal aborts. */
  change(limitMs: number | undefined, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#waiters.delete(done);
        resolve();
      };
      const timer = limitMs === undefined ? undefined : setTimeout(done, limitMs);
      timer?.unref();
      signal.addEventListener('abort', done);
      this.#waiters.add(done);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiters]) wake();
  }
}
