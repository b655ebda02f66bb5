import { BSON, type Document } from 'mongodb';
import { planDestination } from '../../../src/catalog/destination-plan.js';
import { compileNamespaceFilter } from '../../../src/catalog/namespace-filter.js';
import { readCatalog } from '../../../src/catalog/read-catalog.js';
import type { ClusterClient } from '../../../src/cluster/node-client.js';
import { fakeCluster } from '../fake-node-client.js';
import { ConnectionLost, FakeCatalogServer } from './fake-catalog-server.js';
import type { IndexScope } from '../../../src/catalog/index-plan.js';
import { noRemap } from '../../../src/catalog/namespace-remap.js';

export const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });
const { signal } = new AbortController();
export const low = new BSON.MinKey();
export const high = new BSON.MaxKey();

function sourceServer(): FakeCatalogServer {
  const server = new FakeCatalogServer(['shard0', 'shard1']);
  server.add('app.plain', {
    indexes: [
      { v: 2, key: { u: 1 }, name: 'u_1', unique: true },
      { v: 2, key: { t: 1 }, name: 'ttl', expireAfterSeconds: 3600 },
      { v: 2, key: { h: 1 }, name: 'hid', hidden: true },
      { v: 2, key: { both: 1 }, name: 'both_plain' },
      { v: 2, key: { both: 1 }, name: 'both_unique', unique: true },
      { v: 1, key: { old: true, zero: 0 }, name: 'legacy', ns: 'app.plain', background: true },
    ],
  });
  server.add('app.collated', {
    options: { collation: { locale: 'fr', version: '57.1' } },
    indexes: [{ v: 2, key: { a: 1 }, name: 'simple' }],
  });
  server.add('app.capped', { options: { capped: true, size: 4096 } });
  server.add('app.view', {
    type: 'view',
    options: { viewOn: 'plain', pipeline: [{ $match: { a: new BSON.Double(1) } }] },
  });
  server.addSharded(
    'app.ranged',
    { sk: 1 },
    false,
    [
      { min: { sk: low }, max: { sk: 0 }, shard: 'shard1' },
      { min: { sk: 0 }, max: { sk: high }, shard: 'shard0' },
    ],
    { indexes: [{ v: 2, key: { sk: 1, x: 1 }, name: 'longer', unique: true }] },
  );
  server.addSharded('app.uniq', { email: 1 }, true, [{ min: { email: low }, max: { email: high }, shard: 'shard1' }], {
    indexes: [{ v: 2, key: { email: 1 }, name: 'by_email', unique: true }],
  });
  server.addSharded(
    'app.hashed',
    { _id: 'hashed' },
    false,
    [
      { min: { _id: low }, max: { _id: BSON.Long.fromNumber(0) }, shard: 'shard0' },
      { min: { _id: BSON.Long.fromNumber(0) }, max: { _id: high }, shard: 'shard1' },
    ],
    { indexes: [{ v: 2, key: { _id: 'hashed' }, name: '_id_hashed' }] },
  );
  return server;
}

/** A source with collections of many kinds, and an empty destination. */
export interface Pair {
  source: ClusterClient;
  destination: ClusterClient;
  server: FakeCatalogServer;
}

/** @param destinationVersion major release of the destination */
export function pair(destinationVersion: 4 | 5 | 6 = 5): Pair {
  const server = new FakeCatalogServer(['a', 'b'], destinationVersion);
  return {
    source: fakeCluster({ router: sourceServer().client }),
    destination: fakeCluster({
      router: server.client,
      shardIds: ['a', 'b'],
      clusterId: '0b',
      version: [destinationVersion, 0, 0],
    }),
    server,
  };
}

/** The source's catalog, and its plan for the destination. */
export async function makePlan({ source, destination }: Pair, indexScope: IndexScope = 'all') {
  const catalog = await readCatalog(source, everything, signal);
  return { catalog, plan: planDestination(catalog, { source, destination, indexScope, remap: noRemap }) };
}

/** Runs to the end, and starts again whenever the connection is lost. */
export async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      await work();
      return;
    } catch (failure) {
      if (!(failure instanceof ConnectionLost)) throw failure;
    }
  }
}

/** Whether a command about indexes changes something. */
export function isChange(command: Document): boolean {
  return !('listIndexes' in command) && !('aggregate' in command);
}
