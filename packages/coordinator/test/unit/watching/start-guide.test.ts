import { expect, test } from 'vitest';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import type { StartQuestion } from '@convoy/api/fleet/start-question';
import { StartGuide } from '../../../src/watching/start-guide.js';

const request = parseStartRequest({ source: 'cluster0', destination: 'cluster1' });
const report = { at_ms: 1, canStart: true, items: [] };

/** A fleet that answers each question at once, or never. */
function fleetThat(answer: ((id: string) => Partial<PublishedDetails>) | null) {
  const asked: StartQuestion[] = [];
  let details: Partial<PublishedDetails> = {};
  return {
    asked,
    ask: (_topic: string, question: StartQuestion) => {
      asked.push(question);
      details = answer?.(question.id) ?? {};
      return Promise.resolve();
    },
    details: <Topic extends DetailTopic>(topic: Topic) =>
      Promise.resolve(
        new Map<string, PublishedDetails[Topic]>(details[topic] === undefined ? [] : [['fleet', details[topic]]]),
      ),
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
  const listing = { at_ms: 1, failure: null, clusters: null, rows: [], unlisted: 0 };
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
