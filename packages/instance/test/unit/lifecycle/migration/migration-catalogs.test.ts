import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { BSON } from 'mongodb';
import { beforeEach, expect, it } from 'vitest';
import type { Catalog } from '../../../../src/catalog/namespace.js';
import { compileNamespaceFilter } from '../../../../src/catalog/namespace-filter.js';
import { readCatalog } from '../../../../src/catalog/read-catalog.js';
import type { ClusterClient } from '../../../../src/cluster/node-client.js';
import { movedCatalog } from '../../../../src/lifecycle/migration/migration-catalogs.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { fakeCluster } from '../../fake-node-client.js';
import { recordWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';
import { depsWith } from '../../model/deps-with.js';

const options = parseStartRequest({ source: 'cluster0', destination: 'cluster1', keepBalancer: true });
let source: FakeCatalogServer;
let destination: FakeCatalogServer;
let committed: Catalog;

function clusterOf(server: FakeCatalogServer): ClusterClient {
  return fakeCluster({ router: server.client, kind: 'sharded', shardIds: ['a', 'b'], version: [5, 0, 7] });
}

beforeEach(async () => {
  [source, destination] = [new FakeCatalogServer(['a', 'b']), new FakeCatalogServer(['a', 'b'])];
  for (const server of [source, destination])
    server.add('shop.orders', { documents: [{ _id: 1 }], indexes: [{ v: 2, key: { u: 1 }, name: 'u_1' }] });
  source.add('shop.empty');
  destination.add('shop.empty');
  committed = await readCatalog(clusterOf(source), compileNamespaceFilter(options), never);
});

/** The database moves: its collections get new UUIDs on another shard. */
function move(): void {
  const database = source.databases.get('shop');
  if (database === undefined) throw new Error('there is a database');
  database.primary = 'b';
  for (const collection of database.collections.values()) collection.uuid = new BSON.UUID();
}

function moved(): Promise<Catalog | null> {
  const clusters = depsWith({
    runtime: { retrying: once },
    source: clusterOf(source),
    destination: clusterOf(destination),
  });
  return movedCatalog(clusters, recordWith({ options }), committed, never);
}

const ordersOf = (server: FakeCatalogServer) => {
  const orders = server.databases.get('shop')?.collections.get('orders');
  if (orders === undefined) throw new Error('there are orders');
  return orders;
};

it('returns the catalog with the new UUIDs when a database has moved, or nothing has', async () => {
  expect(await moved()).toEqual(committed);
  move();
  const found = await moved();
  expect(found?.map(({ name }) => name)).toEqual(['empty', 'orders']);
  expect(found?.map(({ uuid }) => uuid)).not.toEqual(committed.map(({ uuid }) => uuid));
});

it('takes a collection without documents for one that a user has emptied, if the destination has some', async () => {
  move();
  ordersOf(source).documents = [];
  expect(await moved()).toBeNull();
  ordersOf(destination).documents = [];
  expect(await moved()).not.toBeNull();
});

it.each<[string, () => unknown]>([
  ['drops a collection', () => source.databases.get('shop')?.collections.delete('empty')],
  ['creates one', () => source.add('shop.more')],
  ['changes its indexes', () => ordersOf(source).indexes.pop()],
  ['changes its options', () => (ordersOf(source).options = { capped: true, size: 4096 })],
])('finds that a user %s, also when the database moves', async (_what, change) => {
  move();
  change();
  expect(await moved()).toBeNull();
});
