import { AsyncLocalStorage } from 'node:async_hooks';
import { vi } from 'vitest';

/** How a process runs in virtual time: periodically for a while, and not in between. */
export interface CpuFraction {
  readonly runs_ms: number;
  readonly stands_ms: number;
  /** Time of its first run. */
  readonly from_ms: number;
}

const present = new AsyncLocalStorage<CpuFraction>();

/** The first moment, at or after a given one, when the process runs. */
function nextRun_ms({ runs_ms, stands_ms, from_ms }: CpuFraction, at_ms: number): number {
  const period_ms = runs_ms + stands_ms;
  const within_ms = (((at_ms - from_ms) % period_ms) + period_ms) % period_ms;
  return within_ms < runs_ms ? at_ms : at_ms + period_ms - within_ms;
}

/** Virtual time with a schedule for each process: due timers fire when their process runs. */
export function useSlowTimers(): void {
  vi.useFakeTimers();
  const { setTimeout: set } = globalThis;
  const slow = (work: () => void, delay_ms = 0): NodeJS.Timeout => {
    const fraction = present.getStore();
    if (fraction === undefined) return set(work, delay_ms);
    const now_ms = performance.now();
    return set(() => present.run(fraction, work), nextRun_ms(fraction, now_ms + delay_ms) - now_ms);
  };
  vi.stubGlobal('setTimeout', slow);
}

export function useRealTimers(): void {
  vi.unstubAllGlobals();
  vi.useRealTimers();
}

/** Runs a function as a process with this schedule; its continuations belong to the same process. */
export function asProcess<Result>(fraction: CpuFraction, work: () => Result): Result {
  return present.run(fraction, work);
}
