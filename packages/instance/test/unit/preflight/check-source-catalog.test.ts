import { expect, test } from 'vitest';
import { checkSourceCatalog } from '../../../src/preflight/check-source-catalog.js';

test('indexes about which the shards disagree are refused by their names', () => {
  const report = { catalog: [], timeSeries: [], inconsistentIndexes: [{ namespace: 'shop.orders', index: 'a_1', shards: ['shard1'] }] };
  expect(() => checkSourceCatalog(report)).toThrow(expect.objectContaining({ error: 'inconsistentIndexes', errorDescription: expect.stringMatching(/a_1 of shop\.orders.*shard1/) as unknown }));
  expect(() => checkSourceCatalog({ ...report, inconsistentIndexes: [] })).not.toThrow();
});
