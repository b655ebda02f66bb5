import { expect, it } from 'vitest';
import { NoAnswerError, untilAborted, within } from '../../../src/async/clock.js';
import { never, settled } from '../model/parts.js';

const forever = new Promise<never>(() => undefined);
const unending = { sleep: () => forever };

it('returns the outcome of work that ends in time, and releases the clock', async () => {
  let waits: AbortSignal | null = null;
  const clock = { sleep: (_ms: number, signal: AbortSignal) => ((waits = signal), forever) };
  expect(await within(5, clock, () => Promise.resolve('done'), never)).toBe('done');
  expect(waits).toMatchObject({ aborted: true });
  await expect(within(5, unending, () => Promise.reject(new Error('refused')), never)).rejects.toThrow('refused');
});

it('leaves work behind that does not react to its signal in time', async () => {
  let given: AbortSignal | null = null;
  const work = (signal: AbortSignal): Promise<never> => ((given = signal), forever);
  await expect(within(5, { sleep: settled }, work, never)).rejects.toThrow(NoAnswerError);
  expect(given).toMatchObject({ aborted: true });
});

it('ends when the caller aborts, with its reason', async () => {
  const ending = new AbortController();
  const waiting = within(5, unending, () => forever, ending.signal);
  ending.abort(new Error('ends'));
  await expect(waiting).rejects.toThrow('ends');
  await expect(untilAborted(forever, ending.signal)).rejects.toThrow('ends');
});
