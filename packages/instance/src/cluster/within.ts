import { setMaxListeners } from 'node:events';
import { NoAnswerError } from './calls-in-flight.js';
import type { Clock } from './clock.js';

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
