import { setMaxListeners } from 'node:events';

/** Every call in flight listens to its signal: readers, writers, apply workers and state writes. */
export const listenersMax = 1000;

/** Work that ends by itself or when its signal aborts. */
export type Task = (signal: AbortSignal) => Promise<void>;

/**
 * Runs tasks concurrently and waits for all. The first failure aborts the others and is thrown when all have ended.
 * Throws the reason of `stop` when that aborts.
 * @param onFailure called with each failure at once, while the others may still be running
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

/**
 * Calls `work` for every item, at most `parallel` at a time, and returns the results in the items' order. After a
 * failure no further item starts; once those in progress have ended, it throws the first failure.
 */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  parallel: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length);
  const failures: unknown[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < items.length && failures.length === 0) {
      const position = next;
      next += 1;
      try {
        results[position] = await work(items[position] as Item);
      } catch (failure) {
        failures.push(failure);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, items.length) }, worker));
  if (failures.length > 0) throw failures[0];
  return results;
}
