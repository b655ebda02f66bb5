import { BSON, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { runningBuilds } from '../../../src/cluster/current-operations.js';
import type { ClusterClient, NodeClient } from '../../../src/cluster/node-client.js';
import { fakeCluster, serverError } from '../fake-node-client.js';
import { batchOf } from '../model/calls.js';
import { clientWith } from '../model/client-with.js';
import { never } from '../model/parts.js';

const options = { signal: never };

/** Members that do not lead show nothing. */
function clusterThatShows(operations: () => Document[]): ClusterClient {
  const openCursor: NodeClient['openCursor'] = (_database, _command, { primary = false }) => {
    const first = batchOf(
      (primary ? operations() : []).map((one) => BSON.serialize(one)),
      {},
    );
    return Promise.resolve({
      first,
      open: false,
      next: () => Promise.reject(new Error('one batch')),
      close: () => Promise.resolve(),
    });
  };
  return fakeCluster({ router: clientWith({ label: 'router', openCursor }), kind: 'replicaSet', shardIds: ['rs'] });
}

it('builds are told apart by shard, operation and collection, whose name may have dots', async () => {
  const cluster = clusterThatShows(() => [
    { shard: 'a', opid: 'a:7', ns: 'shop.orders.old' },
    { opid: 8, ns: 'shop.items' },
    { opid: 9, ns: '', command: {} },
    { opid: 11, ns: '', command: { createIndexes: 'items.old', $db: 'shop' } },
    { opid: 10 },
  ]);
  expect(await runningBuilds(cluster, options)).toEqual([
    { id: 'a a:7 shop.orders.old', database: 'shop', collection: 'orders.old' },
    { id: ' 8 shop.items', database: 'shop', collection: 'items' },
    { id: ' 11 shop.items.old', database: 'shop', collection: 'items.old' },
  ]);
});

it('builds of primaries count, whatever members are read otherwise', async () => {
  const cluster = clusterThatShows(() => [{ opid: 8, ns: 'shop.items' }]);
  expect(await runningBuilds(cluster, options)).toHaveLength(1);
});

it('a user without the privilege sees none, and other failures are passed on', async () => {
  const refused = (code: number) =>
    clusterThatShows(() => {
      throw serverError(code, 'failed');
    });
  expect(await runningBuilds(refused(13), options)).toEqual([]);
  await expect(runningBuilds(refused(91), options)).rejects.toMatchObject({ code: 91 });
});
