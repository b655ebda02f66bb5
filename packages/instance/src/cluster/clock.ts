/** The engine's source of time and randomness; injected, so that a test can control both. */
export interface Clock {
  /** Wall clock, milliseconds since 1970: for display and history, never for decisions about data. */
  now_ms(): number;
  /** Milliseconds of a monotonic clock: for durations and limits. */
  monotonic_ms(): number;
  /** Resolves after the time; rejects with the signal's reason when aborted. */
  sleep(duration_ms: number, signal: AbortSignal): Promise<void>;
  /** A number from 0 (inclusive) to 1 (exclusive). */
  random(): number;
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now_ms: () => Date.now(),
  monotonic_ms: () => performance.now(),
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
