/**
 * Waits until all promises settle, up to a limit. Later ones continue unwatched, so they must end by other means.
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
