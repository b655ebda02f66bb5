import { setMaxListeners } from 'node:events';
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

/** Something that a process waits for longer than usual. */
export interface Wait {
  /** Who does not answer, as clients are labelled: the cluster's name first, for example `cluster0 router`. */
  from: string;
  /** What is missing, for example `find of shop.orders`. */
  what: string;
}

/** No answer within Convoy's time limit: the node may have executed the call or not. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';

  /** @param wait who did not answer, and to what; null where the message says it */
  constructor(
    message: string,
    readonly wait: Wait | null = null,
  ) {
    super(message);
  }
}

/** Calls that listen to one signal at the same time: as many as a cluster has shards. */
export const callsParallelMax = 1000;

/** The outcome of work, or the signal's reason as soon as it is aborted; the work itself continues. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Limits the time of work, even of work that does not react to its signal at once.
 * @throws NoAnswerError when the time is over; the signal's reason; what the work throws
 */
export async function within<T>(
  limit_ms: number,
  clock: Pick<Clock, 'sleep'>,
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  const [late, done] = [new AbortController(), new AbortController()];
  const each = AbortSignal.any([signal, late.signal]);
  setMaxListeners(callsParallelMax, each);
  const waiting = clock.sleep(limit_ms, AbortSignal.any([signal, done.signal]));
  void waiting.then(
    () => late.abort(new NoAnswerError(`No answer within ${limit_ms} ms`)),
    () => undefined,
  );
  try {
    return await untilAborted(work(each), each);
  } finally {
    done.abort();
  }
}
