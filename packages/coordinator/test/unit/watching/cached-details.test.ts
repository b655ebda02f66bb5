import type { DetailTopic, PublishedDetails } from '@convoy/api/fleet/published-details';
import { expect, it } from 'vitest';
import { cachedDetails } from '../../../src/watching/cached-details.js';

it('preflight checks are those of instances that have run some', async () => {
  const item = { check: 'cluster roles', result: 'passed', error: null, description: 'Fine.' } as const;
  const shard1: PublishedDetails['preflight'] = { at_ms: 1, canStart: true, items: [item] };
  const preflight = { shard0: { at_ms: 0, canStart: false, items: [] }, shard1 };
  const director = {
    details: <Topic extends DetailTopic>(topic: Topic) => {
      if (topic !== 'preflight') throw new Error('nobody asks for more');
      return Promise.resolve(new Map(Object.entries(preflight) as [string, PublishedDetails[Topic]][]));
    },
    namespaceDetails: () => {
      throw new Error('nobody asks for collections');
    },
  };
  expect(await cachedDetails(director).preflight()).toEqual({ shard1 });
});
