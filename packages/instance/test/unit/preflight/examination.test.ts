import { expect, it } from 'vitest';
import { NoAnswerError } from '../../../src/async/clock.js';
import { type PreflightReport, repeatUnanswered } from '../../../src/preflight/examination.js';
import { serverError } from '../fake-node-client.js';
import { never } from '../model/parts.js';

const found: PreflightReport = { canStart: true, items: [] };
const silence = (from: string): NoAnswerError => new NoAnswerError('silent', { from, what: 'find of shop.orders' });

/** A check that fails in these ways, one after the other, and then finds something. */
function checkAfter(...failures: Error[]): { check: () => Promise<PreflightReport>; left: Error[] } {
  const check = () => {
    const failure = failures.shift();
    return failure === undefined ? Promise.resolve(found) : Promise.reject(failure);
  };
  return { check, left: failures };
}

it('a check is repeated where a node gives no answer, or an election is under way', async () => {
  const { check } = checkAfter(silence('cluster0 router'), serverError(11_602, 'InterruptedDueToReplStateChange'));
  expect(await repeatUnanswered(check, 'cluster1', never)).toBe(found);
});

it.each([
  ['cluster0 shard0', 'sourceUnavailable'],
  ['cluster1 router', 'destinationUnavailable'],
])('a check that %s leaves without an answer again and again ends by name: %s', async (from, error) => {
  const { check, left } = checkAfter(...Array.from({ length: 5 }, () => silence(from)));
  await expect(repeatUnanswered(check, 'cluster1', never)).rejects.toMatchObject({
    error,
    errorDescription: expect.stringMatching(
      `^${from} gives no answer to find of shop\\.orders\\. .*run it again`,
    ) as unknown,
  });
  expect(left).toHaveLength(2);
});

it('what another attempt cannot mend is passed on at once', async () => {
  const { check, left } = checkAfter(...[1, 2].map(() => serverError(13, 'Unauthorized')));
  await expect(repeatUnanswered(check, 'cluster1', never)).rejects.toMatchObject({ code: 13 });
  expect(left).toHaveLength(1);
});
