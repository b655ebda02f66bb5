import { MongoClient, type MongoServerError } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

it('an index of a sharded collection becomes unique on all shards or on none', async () => {
  const cluster = await startWholeCluster({ shards: 2, version: '6.0', balancerRoundMs: 0 });
  const client = await new MongoClient(cluster.connectionString).connect();
  closers.push(
    () => cluster.close(),
    () => client.close(),
  );
  const admin = client.db('admin');
  await admin.command({ shardCollection: 'shop.orders', key: { n: 1 } });
  await admin.command({ split: 'shop.orders', middle: { n: 10 } });
  await admin.command({ moveChunk: 'shop.orders', find: { n: 10 }, to: 'shard1', _waitForDelete: true });
  await admin.command({ moveChunk: 'shop.orders', find: { n: 0 }, to: 'shard0', _waitForDelete: true });
  const shop = client.db('shop');
  await shop.collection<{ _id: number; n: number }>('orders').insertMany([
    { _id: 1, n: 1 },
    { _id: 2, n: 20 },
    { _id: 3, n: 20 },
  ]);
  await shop.command({ collMod: 'orders', index: { keyPattern: { n: 1 }, prepareUnique: true } });
  const convert = { collMod: 'orders', index: { keyPattern: { n: 1 }, unique: true } };
  const refused = await shop.command(convert).catch((error: unknown) => error as MongoServerError);
  expect(refused).toMatchObject({
    code: 359,
    codeName: 'CannotConvertIndexToUnique',
    errorResponse: { violations: [{ ids: [2, 3] }] },
  });
  for (const host of cluster.shards) {
    const shard = await new MongoClient(`mongodb://${host}/?directConnection=true`).connect();
    closers.push(() => shard.close());
    const indexes = await shard.db('shop').collection('orders').indexes();
    expect(indexes.filter((index) => index.unique === true)).toEqual([]);
  }
  await shop.collection<{ _id: number }>('orders').deleteOne({ _id: 3 });
  expect(await shop.command({ ...convert, dryRun: true })).toMatchObject({ ok: 1 });
  await shop.command(convert);
  expect(await shop.collection('orders').indexes()).toContainEqual({ v: 2, key: { n: 1 }, name: 'n_1', unique: true });
});
