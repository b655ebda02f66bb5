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
