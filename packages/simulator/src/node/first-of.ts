/** A reason of one's own: without one every abort makes an error with its stack. */
const over = new Error('waited enough');

/**
 * Waits for the first of several, and ends the others. Streams wait in this way after every entry of an oplog, so it has one
 * listener of its own: `AbortSignal.any` costs several times as much.
 * @param waits each begins to wait until the signal it gets
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
