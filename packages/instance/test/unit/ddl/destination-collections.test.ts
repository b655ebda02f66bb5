import { expect, test } from 'vitest';
import { adoptCapped, meaning } from '../../../src/ddl/destination-collections.js';
import { fakeCluster, FakeNodeClient } from '../fake-node-client.js';
import { pairsIn } from './pairs-in.js';

const { signal } = new AbortController();
const entry = { uuid: 'source', database: 'db', name: 'log', options: { capped: true } };

function listed(uuid: string) {
  return [{ uuid, database: 'db', name: 'log' }];
}

test('records the new UUID of a capped collection that was recreated to empty it', async () => {
  const pairs = await pairsIn(new Map());
  await pairs.record([{ sourceUuid: 'source', destinationUuid: 'first' }], signal);
  await adoptCapped(pairs, [entry], listed('second'), signal);
  expect(pairs.destinationOf('source')).toBe('second');
});

test('replaces what a listing from before the last creation recorded', async () => {
  const pairs = await pairsIn(new Map());
  await pairs.record([{ sourceUuid: 'source', destinationUuid: 'created last' }], signal);
  await adoptCapped(pairs, [entry], listed('created before'), signal);
  await adoptCapped(pairs, [entry], listed('created last'), signal);
  expect(pairs.destinationOf('source')).toBe('created last');
});

test('does not adopt a collection that corresponds to another one of the source', async () => {
  const pairs = await pairsIn(new Map());
  await pairs.record(
    [
      { sourceUuid: 'source', destinationUuid: 'gone' },
      { sourceUuid: 'other', destinationUuid: 'taken' },
    ],
    signal,
  );
  await adoptCapped(pairs, [entry], listed('taken'), signal);
  expect(pairs.destinationOf('source')).toBe('gone');
});

test('a command states the UUID of its collection, but not that of the buckets of a time series', () => {
  const uuid = '0a'.repeat(16);
  const stated = (major: number, name: string): boolean =>
    'collectionUUID' in
    meaning(
      { destination: fakeCluster({ version: [major, 0, 0], router: new FakeNodeClient('router', {}) }) },
      { uuid, name },
    );
  expect(stated(8, 'system.buckets.t')).toBe(false);
  expect(stated(8, 't')).toBe(true);
  expect(stated(5, 't')).toBe(false);
});
