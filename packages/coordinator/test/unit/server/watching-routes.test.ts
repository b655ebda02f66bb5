import { expect, test } from 'vitest';
import type { LogRecord } from '@convoy/api/contract/log-record';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { LOGS_MAX, mergeLogs } from '../../../src/server/watching-routes.js';

function record(at_ms: number): LogRecord {
  return { id: `r-${at_ms}`, at_ms, level: 'warn', event: 'retry', message: 'x', fields: {} };
}

async function* published(
  details: Readonly<Record<string, number[]>>,
): AsyncGenerator<[string, PublishedDetails['logs']]> {
  await Promise.resolve();
  for (const [id, times] of Object.entries(details)) yield [id, { records: times.map(record) }];
}

test('records of all processes come in the order of time, each with its instance', async () => {
  const merged = await mergeLogs(published({ shard0: [1, 4], shard1: [2] }), [record(3)]);
  expect(merged.map(({ at_ms, instance }) => [at_ms, instance])).toEqual([
    [1, 'shard0'],
    [2, 'shard1'],
    [3, null],
    [4, 'shard0'],
  ]);
});

test('their number is bounded, and the oldest go', async () => {
  const many = Array.from({ length: 30 }, (_, n) => [`i${n}`, Array.from({ length: 100 }, (_, at) => n * 100 + at)]);
  const merged = await mergeLogs(published(Object.fromEntries(many) as Record<string, number[]>), []);
  expect(merged).toHaveLength(LOGS_MAX);
  expect(merged[0]?.at_ms).toBe(3_000 - LOGS_MAX);
});
