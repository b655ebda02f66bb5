import { expect, test } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { StartQuestion } from '@convoy/api/fleet/start-question';
import { StartGuide } from '../../../src/server/start-guide.js';

const request = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
const report = { at_ms: 1, canStart: true, items: [] };
const listing = { at_ms: 1, failure: null, clusters: null, rows: [], unlisted: 0 };

/** A fleet that answers each question at once, or never; it keeps its answers. */
function fleetThat(answer: ((id: string, request: StartQuestion['request']) => Partial<PublishedDetails>) | null) {
  const asked: StartQuestion[] = [];
  const answers: Partial<PublishedDetails>[] = [];
  return {
    asked,
    ask: (_topic: string, question: StartQuestion) => {
      asked.push(question);
      return Promise.resolve().then(() => void answers.push(answer?.(question.id, question.request) ?? {}));
    },
    async *details<Topic extends DetailTopic>(topic: Topic): AsyncGenerator<[string, PublishedDetails[Topic]]> {
      await Promise.resolve();
      for (const [at, one] of answers.entries()) if (one[topic] !== undefined) yield [String(at), one[topic]];
    },
  };
}

test('a check is answered under its own id', async () => {
  const fleet = fleetThat((questionId) => ({ startCheck: { questionId, at_ms: 1, failure: null, report } }));
  await expect(new StartGuide(fleet).check(request)).resolves.toEqual(report);
});

test('the answer to another question is none', async () => {
  const fleet = fleetThat(() => ({ startCheck: { questionId: 'other', at_ms: 1, failure: null, report } }));
  const guide = new StartGuide(fleet, () => performance.now(), 0);
  await expect(guide.check(request)).rejects.toMatchObject({ error: 'commandTimedOut' });
});

test('a failure keeps its name', async () => {
  const failure = { error: 'sourceUnavailable', errorDescription: 'x' };
  const fleet = fleetThat((questionId) => ({ startCheck: { questionId, at_ms: 1, failure, report: null } }));
  await expect(new StartGuide(fleet).check(request)).rejects.toMatchObject(failure);
});

test('one listing serves all pages for a minute, and one that is late is waited for again', async () => {
  const fleet = fleetThat((questionId) => ({ sourceListing: { questionId, ...listing } }));
  let now_ms = 0;
  const guide = new StartGuide(fleet, () => now_ms);
  await guide.listing(request);
  await guide.listing(request);
  expect(fleet.asked.length).toBe(1);
  now_ms = 61_000;
  await guide.listing(request);
  expect(fleet.asked.length).toBe(2);
  const late = fleetThat(null);
  const waiting = new StartGuide(late, () => 0, 0);
  for (let at = 0; at < 2; at += 1)
    await expect(waiting.listing(request)).rejects.toMatchObject({ error: 'commandTimedOut' });
  expect(late.asked.length).toBe(1);
});

test('a listing that could not be asked for is asked for by the next request', async () => {
  const failures = [new ConvoyError('redisUnavailable')];
  const fleet = fleetThat((questionId) => {
    const failure = failures.pop();
    if (failure !== undefined) throw failure;
    return { sourceListing: { questionId, ...listing } };
  });
  const guide = new StartGuide(fleet, () => 0, 0);
  const together = await Promise.allSettled([guide.listing(request), guide.listing(request)]);
  expect(together).toMatchObject([1, 2].map(() => ({ reason: { error: 'redisUnavailable' } })));
  expect(await guide.listing(request)).toMatchObject(listing);
});

test('requests for different clusters at once get their own listings', async () => {
  const fleet = fleetThat((questionId, { source }) => ({
    sourceListing: { questionId, ...listing, unlisted: source === 'cluster0' ? 0 : 1 },
  }));
  const guide = new StartGuide(fleet);
  const other = parseStartRequest({ source: 'cluster1', destination: 'cluster0' });
  const listings = await Promise.all([guide.listing(request), guide.listing(other)]);
  expect(listings.map(({ unlisted }) => unlisted)).toEqual([0, 1]);
});
