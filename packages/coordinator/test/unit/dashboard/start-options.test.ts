import { describe, expect, test } from 'vitest';
import { carriedKinds } from '@convoy/api/contract/carry';
import { buildIndexesValues } from '@convoy/api/contract/start-request';
import type { SourceReply } from '@convoy/api/contract/start-guide';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import {
  databasesOf,
  shardKeyNamespaces,
  shardKeyOf,
  startView,
  type StartChoices,
} from '../../../src/dashboard/views/start-options.js';

const sharded = { name: 'cluster0', kind: 'sharded' as const, shards: 2, version: '7.0.5', blocksWrites: true };
const equal = { source: sharded, destination: { ...sharded, name: 'cluster1' } };
const replicaSet = { ...equal, source: { ...sharded, kind: 'replicaSet' as const, shards: 1 } };
const old = { ...equal, source: { ...sharded, version: '5.0.7', blocksWrites: false } };
const olds = { ...old, destination: { ...old.source, name: 'cluster1' } };
const resized = { ...equal, destination: { ...equal.destination, shards: 3 } };

const usual: StartChoices = {
  isFiltered: false,
  databases: new Set(),
  collections: new Map(),
  buildIndexes: 'beforeDataCopy',
  indexConflicts: 'refuse',
  indexFailures: 'refuse',
  verifies: true,
  writeBlocking: 'none',
  isReversible: false,
  carried: [],
  shardKeys: new Map(),
  createsSupportingIndexes: false,
};
const everything = {
  ...usual,
  isReversible: true,
  buildIndexes: 'never' as const,
  indexConflicts: 'majority' as const,
  indexFailures: 'skip' as const,
};

describe('options of a start', () => {
  test('without choices they are only the clusters', () => {
    expect(startView(usual, equal).body).toEqual({ source: 'cluster0', destination: 'cluster1' });
    expect(startView(usual, null).body).toEqual({ source: 'cluster0', destination: 'cluster1' });
  });

  test.each([
    ['equal', equal],
    ['a replica set', replicaSet],
    ['old', old],
    ['resized', resized],
  ])('whatever is chosen, the contract takes the body (%s)', (_name, clusters) => {
    expect(() => parseStartRequest(startView(everything, clusters).body)).not.toThrow();
  });

  test('what the commit takes along is named as the contract names it', () => {
    const { body } = startView({ ...usual, carried: carriedKinds }, equal);
    expect(parseStartRequest(body).carry).toEqual([...carriedKinds].sort());
  });

  test('a reversible migration has indexes and write blocking, and says why', () => {
    const view = startView(everything, equal);
    expect(view.body).toMatchObject({ reversible: true, enableUserWriteBlocking: true });
    expect(view.body).not.toHaveProperty('buildIndexes');
    expect(view.body).not.toHaveProperty('indexConflicts');
    expect(view.body).not.toHaveProperty('indexFailures');
    expect([view.indexFailures.reason, view.indexConflicts.reason]).toEqual([
      'A reversible migration needs equal indexes on both clusters.',
      'A reversible migration needs equal indexes on both clusters.',
    ]);
    expect([view.indexes.reason, view.writeBlocking.reason]).toEqual([
      'A reversible migration builds all indexes.',
      'A reversible migration blocks writes on both clusters.',
    ]);
  });

  test.each(buildIndexesValues.filter((value) => value !== 'beforeDataCopy'))(
    'indexes are built as chosen: %s',
    (buildIndexes) => {
      const view = startView({ ...usual, buildIndexes }, equal);
      expect([view.body.buildIndexes, view.indexes.reason]).toEqual([buildIndexes, null]);
    },
  );

  test('indexes that differ or cannot be built are treated as chosen', () => {
    const { body } = startView({ ...usual, indexConflicts: 'skip', indexFailures: 'skip' }, equal);
    expect(body).toMatchObject({ indexConflicts: 'skip', indexFailures: 'skip' });
  });

  test.each([
    ['none', equal, undefined, null],
    ['destinationOnly', equal, 'destinationOnly', null],
    ['destinationOnly', old, 'destinationOnly', null],
    ['sourceAndDestination', equal, true, null],
    ['sourceAndDestination', old, undefined, 'Needs a source from MongoDB 6.0.'],
    ['destinationOnly', olds, undefined, 'Needs a destination from MongoDB 6.0.'],
  ] as const)('writes are blocked as chosen, where servers can: %s', (writeBlocking, clusters, sent, reason) => {
    const view = startView({ ...usual, writeBlocking }, clusters);
    expect([view.body.enableUserWriteBlocking, view.writeBlocking.reason]).toEqual([sent, reason]);
  });

  test('a reversible migration may build its indexes after the copy', () => {
    const view = startView({ ...everything, buildIndexes: 'afterDataCopy' }, equal);
    expect([view.body.buildIndexes, view.indexes.reason]).toEqual(['afterDataCopy', null]);
  });

  test.each([
    [old, 'from MongoDB 6.0'],
    [resized, 'these have 2 and 3'],
    [replicaSet, 'from a replica set to a sharded cluster'],
  ])('what the clusters forbid is not offered', (clusters, reason) => {
    const { reversible, body } = startView(everything, clusters);
    expect(reversible).toMatchObject({ isOn: false, reason: expect.stringContaining(reason) as string });
    expect(body).not.toHaveProperty('reversible');
  });

  test('picked namespaces become a filter', () => {
    const picked = { ...usual, isFiltered: true, databases: new Set(['shop']) };
    const collections = new Map([
      ['shop', new Set(['orders'])],
      ['billing', new Set(['b', 'a'])],
      ['logs', new Set<string>()],
    ]);
    expect(startView({ ...picked, collections }, equal).body.includeNamespaces).toEqual([
      { database: 'shop' },
      { database: 'billing', collections: ['a', 'b'] },
    ]);
    expect(startView(picked, equal).refusal).toBeNull();
    expect(startView({ ...usual, isFiltered: true }, equal).refusal).toContain('Pick at least one');
  });

  test('a replica set to a sharded cluster has shard keys, even none', () => {
    expect(startView(usual, replicaSet)).toMatchObject({
      needsShardKeys: true,
      body: { sharding: { shardingEntries: [] } },
    });
    const shardKeys = new Map([['shop.orders.eu', 'customerId, _id: hashed']]);
    expect(startView({ ...usual, shardKeys }, replicaSet).body.sharding?.shardingEntries).toEqual([
      {
        database: 'shop',
        collection: 'orders.eu',
        shardCollection: { key: [{ customerId: 1 }, { _id: 'hashed' }] },
      },
    ]);
    expect(shardKeyOf(' , ')).toEqual([]);
  });

  test('shard keys are asked for the 50 largest collections, and only where the source has none', () => {
    const rows = Array.from({ length: 51 }, (_, at) => ({
      database: 'shop',
      collection: `orders.${at}`,
      totalBytes: 100 - at,
      documents: 1,
    }));
    const named = shardKeyNamespaces({ rows });
    expect([named[0], named.length]).toEqual(['shop.orders.0', 50]);
    expect(shardKeyNamespaces({ rows: [] })).toEqual([]);
    expect([startView(usual, equal), startView(usual, null)].map(({ needsShardKeys }) => needsShardKeys)).toEqual([
      false,
      false,
    ]);
    expect(startView({ ...usual, shardKeys: new Map([['a.b', 'x']]) }, equal).body).not.toHaveProperty('sharding');
  });

  test('databases come with their sizes, the largest first', () => {
    const row = (database: string, totalBytes: number): SourceReply['rows'][number] => ({
      database,
      collection: `c${totalBytes}`,
      totalBytes,
      documents: 1,
    });
    const rows = [row('a', 5), row('b', 3), row('b', 4)];
    expect(databasesOf({ rows }).map(({ name, totalBytes, documents }) => [name, totalBytes, documents])).toEqual([
      ['b', 7, 2],
      ['a', 5, 1],
    ]);
  });
});
