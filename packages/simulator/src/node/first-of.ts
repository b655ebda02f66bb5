/** A shared abort reason: without one every abort creates an error with its stack. */
const over = new Error('waited enough');

/**
 * Waits for the first of several, and ends the others. Streams wait this way after every oplog entry, so it uses one
 * listener of its own: `AbortSignal.any` costs several times as much.
 * @param waits each starts to wait until its signal
 * @param signal ends them all
 */
export async function firstOf(
  waits: readonly ((until: AbortSignal) => Promise<void>)[],
  signal: AbortSignal,
): Promise<void> {
  const done = new AbortController();
  const end = (): void => done.abort(over);
  if (signal.aborted) end();
  signal.addEventListener('abort', end);
  try {
    await Promise.race(waits.map((wait) => wait(done.signal)));
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}
