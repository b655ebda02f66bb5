/**
 * Waits until everything has ended, well or not, but no longer than a limit. What has not ended by then goes on
 * unwatched, so it must come to an end by other means.
 * @param limit_ms milliseconds
 */
export async function settleWithin(work: readonly Promise<unknown>[], limit_ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit_ms);
  });
  await Promise.race([Promise.allSettled(work), limit]);
  clearTimeout(timer);
}
