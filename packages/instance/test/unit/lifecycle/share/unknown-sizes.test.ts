import { expect, test } from 'vitest';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { followedCatalog } from '../../../../src/lifecycle/share/followed-catalog.js';
import { shareCollections } from '../../../../src/lifecycle/share/share-collections.js';
import { FakeDoor, fakeCluster } from '../../fake-door.js';

const door = new FakeDoor('router', {});

function documentBytesOf(sizeBytes: number, documentCount: number): number | undefined {
  const entry: CatalogEntry = { database: 'shop', name: 'orders', type: 'collection', uuid: '00'.repeat(16), options: {}, indexes: [], primaryShard: 's0', sharding: null, sizeBytes, documentCount };
  const source = fakeCluster({ router: door, shards: new Map([['s0', door]]), shardIds: ['s0'] });
  return shareCollections(followedCatalog([entry], []).entries, 's0', source, fakeCluster({ router: door, shardIds: ['a'] }))[0]?.collection.documentBytes;
}

test('a collection whose statistics say nothing has documents of unknown size', () => {
  expect(documentBytesOf(0, 0)).toBe(0);
  expect(documentBytesOf(1000, 0)).toBe(0);
  expect(documentBytesOf(1000, 10)).toBe(100);
});
