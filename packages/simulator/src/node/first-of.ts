/** A shared abort reason: without one every abort creates an error with its stack. */
const othersEnded = new Error('another wait ended first');

/**
 * Starts all waits, returns when the first one ends, and aborts the others. Streams call this after every oplog entry:
 * one listener costs a fraction of `AbortSignal.any`.
 * @param waits each starts a wait, which ends when the signal that it gets aborts
 * @param signal aborts all waits
 */
export async function firstOf(
  waits: readonly ((until: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const end = (): void => done.abort(othersEnded);
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  try {
    await Promise.race(waits.map((wait) => wait(done.signal)));
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
