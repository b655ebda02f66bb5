import { setTimeout as delay } from 'node:timers/promises';

/** The health of a node's process and machine, as faults set it. It does not depend on the node's data. */
export class NodeCondition {
  /** Milliseconds by which every command is delayed. */
  delayMs = 0;
  #running = true;
  #paused = false;
  readonly #waiters = new Set<() => void>();

  /** False while the process is stopped. */
  get running(): boolean {
    return this.#running;
  }

  /** True while the process is frozen: it accepts connections and never answers. */
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

  /** Delays a command as the condition demands. Resolves early when the signal aborts. */
  async hold(signal: AbortSignal): Promise<void> {
    if (this.delayMs > 0) await delay(this.delayMs, undefined, { signal }).catch(() => undefined);
    await this.awake(signal);
  }

  /** Resolves as soon as the node is not paused. */
  async awake(signal: AbortSignal): Promise<void> {
    while (this.#paused && this.#running && !signal.aborted) await this.change(undefined, signal);
  }

  /** Wakes the waiters for a change that is not this object's own. */
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
