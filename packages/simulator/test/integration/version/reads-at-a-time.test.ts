import { type Document, MongoClient, type Timestamp, UUID } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function clusterOf(version: ReleaseSeries): Promise<{ cluster: Cluster; client: MongoClient }> {
  const cluster = await startWholeCluster({ shards: 2, version });
  const client = await new MongoClient(cluster.connectionString).connect();
  closers.push(
    () => cluster.close(),
    () => client.close(),
  );
  return { cluster, client };
}

it('since 7.0 a router shows under the old name of a sharded collection what its primary shard has of it', async () => {
  const { client } = await clusterOf('7.0');
  const shop = client.db('shop');
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  const orders = Array.from({ length: 40 }, (_, _id) => ({ _id }));
  const { operationTime: time } = await shop.command({ insert: 'orders', documents: orders });
  await shop.renameCollection('orders', 'renamed');
  const at = async (find: string, atClusterTime: Timestamp): Promise<Document> =>
    (await shop.command({ find, batchSize: 100, readConcern: { level: 'snapshot', atClusterTime } }))
      .cursor as Document;
  const old = await at('orders', time as Timestamp);
  expect(old.atClusterTime).toEqual(time);
  expect((old.firstBatch as Document[]).length).toBeGreaterThan(0);
  expect((old.firstBatch as Document[]).length).toBeLessThan(orders.length);
  const { operationTime: later } = await shop.command({ ping: 1 });
  expect((await at('renamed', later as Timestamp)).firstBatch).toHaveLength(orders.length);
});

it('since 6.0 a router names the collection with the expected UUID, wherever it is', async () => {
  const { cluster, client } = await clusterOf('6.0');
  const shop = client.db('shop');
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'shop.ranged', key: { _id: 1 } });
  await admin.command({ split: 'shop.ranged', middle: { _id: 0 } });
  await admin.command({ moveChunk: 'shop.ranged', find: { _id: 1 }, to: 'shard1' });
  await shop.createCollection('alone');
  const uuid = cluster.shardMembers[0]?.shard.access.collection('shop.alone')?.uuid;
  const meant = new UUID(uuid?.buffer);
  const refused = { code: 361, db: 'shop', expectedCollection: 'ranged', actualCollection: 'alone' };
  const reply = await shop.command({ insert: 'ranged', documents: [{ _id: 5 }], collectionUUID: meant });
  expect(reply.writeErrors).toEqual([expect.objectContaining(refused)]);
  await expect(shop.command({ find: 'ranged', filter: { _id: 5 }, collectionUUID: meant })).rejects.toMatchObject({
    code: 361,
    errorResponse: expect.objectContaining(refused) as unknown,
  });
  await expect(shop.command({ drop: 'gone', collectionUUID: meant })).rejects.toMatchObject({ code: 361 });
  expect((await shop.command({ insert: 'alone', documents: [{ _id: 5 }], collectionUUID: meant })).n).toBe(1);
});

it.each([
  ['7.0', null],
  ['8.0', 272],
] as const)('on %s a router read at a time before its database is answered %j', async (version, code) => {
  const { client } = await clusterOf(version);
  const { operationTime: before } = await client.db('other').command({ insert: 'c', documents: [{ _id: 1 }] });
  const shop = client.db('shop');
  const { operationTime: since } = await shop.command({ insert: 'orders', documents: [{ _id: 1 }] });
  const read = (find: string, time: unknown): Promise<unknown> =>
    shop.command({ find, readConcern: { level: 'snapshot', atClusterTime: time as Timestamp } }).then(
      () => null,
      (error: unknown) => (error as { code: unknown }).code,
    );
  expect(await read('orders', before)).toBe(code);
  expect(await read('gone', before)).toBe(code);
  expect(await read('orders', since)).toBeNull();
});
