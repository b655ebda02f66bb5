/** How `await using` and callers end something: once, however often it is asked for. */
export interface Closing extends AsyncDisposable {
  close(): Promise<void>;
}

/** @param end runs at the first call; later calls wait for the same end */
export function closing(end: () => Promise<void>): Closing {
  let ended: Promise<void> | undefined;
  const close = (): Promise<void> => (ended ??= end());
  return { close, [Symbol.asyncDispose]: close };
}
