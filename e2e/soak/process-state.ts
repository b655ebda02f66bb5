import type { Random } from '@convoy/cli/demo/random';
import type { Clock } from '@convoy/instance/async/clock';
import type { VirtualTime } from './virtual-time.js';

/**
 * One incarnation of an instance as the operating system has it: it runs, stands still, or is dead. All that moves an
 * instance are timers and answers, and both come through here.
 */
export class ProcessState {
  #state: 'running' | 'frozen' | 'dead' = 'running';
  #waiting: (() => void)[] = [];

  get dead(): boolean {
    return this.#state === 'dead';
  }

  get running(): boolean {
    return this.#state === 'running';
  }

  /** Resolves when the process runs; of a dead one never. */
  awake(): Promise<void> {
    if (this.#state === 'running') return Promise.resolve();
    return new Promise((resolve) => {
      if (this.#state === 'frozen') this.#waiting.push(resolve);
    });
  }

  freeze(): void {
    if (this.#state === 'running') this.#state = 'frozen';
  }

  thaw(): void {
    if (this.#state !== 'frozen') return;
    this.#state = 'running';
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const go of waiting) go();
  }

  kill(): void {
    this.#state = 'dead';
    this.#waiting = [];
  }
}

/** A process's clock in virtual time: it stops with the process, which has a random source of its own. */
export function processClock(time: VirtualTime, state: ProcessState, random: Random): Clock {
  return {
    now_ms: () => time.start_ms + time.elapsed_ms,
    monotonic_ms: () => time.elapsed_ms,
    random: () => random.next(),
    sleep: async (duration_ms, signal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const onAbort = (): void => reject(signal.reason as Error);
        signal.addEventListener('abort', onAbort, { once: true });
        void time.sleep(duration_ms).then(() => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        });
      });
      if (!state.running) await state.awake();
    },
  };
}
