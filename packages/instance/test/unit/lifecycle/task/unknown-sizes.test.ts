import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { followedCatalog } from '../../../../src/lifecycle/task/followed-collections.js';
import { taskCollections } from '../../../../src/lifecycle/task/task-collections.js';
import { fakeCluster, FakeNodeClient } from '../../fake-node-client.js';
import { wholeCollections } from '../../model/parts.js';

const client = new FakeNodeClient('router', {});

function documentBytesOf(sizeBytes: number, documentCount: number): number | undefined {
  const entry: CatalogEntry = {
    database: 'shop',
    name: 'orders',
    type: 'collection',
    uuid: '00'.repeat(16),
    options: {},
    indexes: [],
    primaryShard: 's0',
    sharding: null,
    sizeBytes,
    documentCount,
  };
  const source = fakeCluster({ router: client, shards: new Map([['s0', client]]), shardIds: ['s0'] });
  return taskCollections(followedCatalog([entry], []).entries, 's0', source, wholeCollections)[0]?.collection
    .documentBytes;
}

test('a collection whose statistics are empty has documents of unknown size', () => {
  expect(documentBytesOf(0, 0)).toBe(0);
  expect(documentBytesOf(1000, 0)).toBe(0);
  expect(documentBytesOf(1000, 10)).toBe(100);
});
