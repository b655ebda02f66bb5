import { setMaxListeners } from 'node:events';

/** Every call in flight listens to its signal: as many as there are readers, writers, lanes and state writes. */
export const listenersMax = 1000;

/** Work that ends by itself or when its signal is aborted. */
export type Task = (signal: AbortSignal) => Promise<void>;

/**
 * Runs tasks at once and waits for all of them. The first failure ends the others and is thrown when they have ended;
 * when `stop` is aborted, its reason is.
 * @param onFailure told of every failure at once, while the others may still be ending
 */
export async function runTogether(
  stop: AbortSignal,
  tasks: readonly Task[],
  onFailure: (error: unknown) => void = () => undefined,
): Promise<void> {
  const failed = new AbortController();
  const signal = AbortSignal.any([stop, failed.signal]);
  setMaxListeners(listenersMax, signal);
  const failures: unknown[] = [];
  await Promise.all(
    tasks.map((task) =>
      task(signal).catch((error: unknown) => {
        failures.push(error);
        failed.abort(error);
        onFailure(error);
      }),
    ),
  );
  if (failures.length > 0) throw failures[0] as Error;
}
