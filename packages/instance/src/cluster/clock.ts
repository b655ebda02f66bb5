import { systemTime, type TimeSource } from '@convoy/api/time/time-source';

/** The engine's source of time and randomness; injected, so that a test can control both. */
export interface Clock extends TimeSource {
  /** Resolves after the time; rejects with the signal's reason when aborted. */
  sleep(duration_ms: number, signal: AbortSignal): Promise<void>;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  ...systemTime,
  random: () => Math.random(),
  sleep: (duration_ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      }, duration_ms);
      signal.addEventListener('abort', onAbort, { once: true });
    }),
};
