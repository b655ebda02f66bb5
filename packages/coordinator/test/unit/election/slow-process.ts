import { AsyncLocalStorage } from 'node:async_hooks';
import { vi } from 'vitest';

/** How a process is let run in virtual time: again and again for a time, and then not. */
export interface CpuFraction {
  readonly runs_ms: number;
  readonly stands_ms: number;
  /** When it runs for the first time. */
  readonly from_ms: number;
}

const present = new AsyncLocalStorage<CpuFraction>();

/** The first moment, from a given one on, at which a process is let run. */
function nextRun_ms({ runs_ms, stands_ms, from_ms }: CpuFraction, at_ms: number): number {
  const period_ms = runs_ms + stands_ms;
  const within_ms = (((at_ms - from_ms) % period_ms) + period_ms) % period_ms;
  return within_ms < runs_ms ? at_ms : at_ms + period_ms - within_ms;
}

/** Virtual time in which each process has its own share: its timers fire when they are due and it is let run. */
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

/** Does something as a process with this share; what comes of it later is the same process's. */
export function asProcess<Result>(fraction: CpuFraction, work: () => Result): Result {
  return present.run(fraction, work);
}
