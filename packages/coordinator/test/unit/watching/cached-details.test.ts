import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { expect, it } from 'vitest';
import { cachedDetails } from '../../../src/watching/cached-details.js';

it('preflight checks are those of instances that have run some', async () => {
  const item = { check: 'cluster roles', result: 'passed', error: null, description: 'Fine.' } as const;
  const shard1: PublishedDetails['preflight'] = { at_ms: 1, canStart: true, items: [item] };
  const preflight = new Map([
    ['shard0', { at_ms: 0, canStart: false, items: [] }],
    ['shard1', shard1],
  ]);
  const director = { details: () => Promise.resolve(preflight), namespaceDetails: () => [] };
  expect(await cachedDetails(director as never).preflight()).toEqual({ shard1 });
});
