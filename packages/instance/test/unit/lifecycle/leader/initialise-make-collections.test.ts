import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { beforeEach, expect, it } from 'vitest';
import { BuildsUnderWay } from '../../../../src/catalog/index-builds.js';
import { planDestination } from '../../../../src/catalog/destination-plan.js';
import type { CatalogEntry } from '../../../../src/catalog/namespace.js';
import { makeCollections } from '../../../../src/lifecycle/leader/initialise.js';
import { indexAsRead } from '../../catalog/as-read.js';
import { FakeCatalogServer } from '../../catalog/fake-catalog-server.js';
import { fakeCluster } from '../../fake-node-client.js';
import { depsWith } from '../../model/deps-with.js';
import { viewWith } from '../../model/migration-state.js';
import { never, once } from '../../model/parts.js';
import { noRemap } from '../../../../src/catalog/namespace-remap.js';

const entry = {
  database: 'shop',
  type: 'collection',
  uuid: '0a'.repeat(16),
  options: {},
  sharding: null,
  primaryShard: 'a',
  sizeBytes: 0,
  documentCount: 0,
} as const;
const idIndex = { v: 2, key: { _id: 1 }, name: '_id_' };
/** Now a capped collection, with another index under one name, and a view. */
const catalog: CatalogEntry[] = [
  { ...entry, name: 'log', options: { capped: true, size: 4096 }, indexes: [idIndex].map(indexAsRead) },
  {
    ...entry,
    name: 'orders',
    uuid: '0b'.repeat(16),
    indexes: [idIndex, { v: 2, key: { a: 1, b: 1 }, name: 'by' }].map(indexAsRead),
  },
  { ...entry, name: 'seen', type: 'view', uuid: '', options: { viewOn: 'orders', pipeline: [] }, indexes: [] },
];

let server: FakeCatalogServer;
let isDeposed: boolean;

function make(leaderEpoch: number, catalogNow = catalog): Promise<unknown> {
  const destination = fakeCluster({ router: server.client, shardIds: ['a', 'b'], version: [8, 0, 10] });
  const plan = planDestination(catalogNow, { source: destination, destination, indexScope: 'all', remap: noRemap });
  const deps = depsWith({
    runtime: { retrying: once },
    destination,
    records: { confirmLeader: () => (isDeposed ? Promise.reject(new ConvoyError('staleEpoch')) : Promise.resolve()) },
    watch: { view: viewWith() },
    onIndexProgress: () => undefined,
    leaderEpoch,
    builds: new BuildsUnderWay(),
  });
  return makeCollections(deps, catalogNow, plan, never);
}

beforeEach(() => {
  isDeposed = false;
  server = new FakeCatalogServer(['a', 'b']);
  server.add('shop.log');
  server.add('shop.orders', { indexes: [{ v: 2, key: { a: 1 }, name: 'by' }] });
  server.add('shop.seen', { type: 'view', options: { viewOn: 'log', pipeline: [] } });
  server.add('shop.other', { documents: [{ _id: 1 }] });
});

it('what an earlier leader has created in another form is recreated, and nothing else changes', async () => {
  await make(2);
  const collections = server.databases.get('shop')?.collections;
  expect(collections?.get('log')?.options).toEqual({ capped: true, size: 4096 });
  expect(collections?.get('orders')?.indexes).toEqual([idIndex, { v: 2, key: { a: 1, b: 1 }, name: 'by' }]);
  expect(collections?.get('seen')?.options).toMatchObject({ viewOn: 'orders' });
  expect(collections?.get('other')?.documents).toHaveLength(1);
});

it('a time series of another granularity is dropped under the name of its users', async () => {
  const timeseries = { timeField: 'at', granularity: 'minutes' };
  const series = { ...entry, name: 'system.buckets.heat', uuid: '0c'.repeat(16), options: { timeseries }, indexes: [] };
  server.add('shop.system.buckets.heat', { options: { timeseries: { ...timeseries, granularity: 'seconds' } } });
  server.add('shop.heat', { type: 'timeseries', options: {} });
  // This fake keeps the buckets, so that each attempt finds them again.
  await expect(make(2, [series])).rejects.toMatchObject({ error: 'destinationNotEmpty' });
  expect(server.client.sent.some(({ command }) => command['drop'] === 'heat')).toBe(true);
});

it('the first leader drops nothing', async () => {
  await expect(make(1)).rejects.toMatchObject({ error: 'destinationNotEmpty' });
  expect(server.client.sent.some(({ command }) => 'drop' in command)).toBe(false);
});

it('collections with documents stay and are refused', async () => {
  server.add('shop.log', { documents: [{ _id: 1 }] });
  await expect(make(2)).rejects.toMatchObject({ error: 'destinationNotEmpty' });
  expect(server.databases.get('shop')?.collections.get('log')?.documents).toHaveLength(1);
});

it('a deposed leader drops and creates nothing', async () => {
  isDeposed = true;
  await expect(make(2)).rejects.toMatchObject({ error: 'staleEpoch' });
  expect(server.client.sent).toEqual([]);
  expect(server.client.sent.some(({ command }) => 'drop' in command)).toBe(false);
});
