/** A reason of one's own: without one every abort makes an error with its stack. */
const over = new Error('waited enough');

/**
 * Waits for the first of several, and ends the others.
 * @param waits each begins to wait until the signal it gets
 * @param signal ends them all
 */
export async function firstOf(waits: readonly ((until: AbortSignal) => Promise<void>)[], signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const either = AbortSignal.any([signal, done.signal]);
  await Promise.race(waits.map((wait) => wait(either)));
  done.abort(over);
}
