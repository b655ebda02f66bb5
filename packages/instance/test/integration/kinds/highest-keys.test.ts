import { MaxKey } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

interface Order {
  _id: unknown;
  n: number;
  text: string;
}

/** Several partitions of a second each. */
const documents = 400;
const text = 'x'.repeat(8_000);
const slowly = { loadRateBytesPerSecond: 2 ** 20 };
const highest = { _id: new MaxKey() };

it.each(['router', 'direct'])(
  'a document whose ranged shard key is MaxKey is copied, followed and verified (8.0); access %s',
  async (sourceAccess) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0' });
    const { client } = fixture.cluster0;
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
    await admin.command({ shardCollection: 'shop.orders', key: { _id: 1 } });
    await admin.command({ split: 'shop.orders', middle: { _id: documents / 2 } });
    await admin.command({ moveChunk: 'shop.orders', find: { _id: documents }, to: 'shard1' });
    const orders = client.db('shop').collection<Order>('orders');
    await orders.insertMany([
      ...Array.from({ length: documents }, (_, _id) => ({ _id, n: 0, text })),
      { ...highest, n: 0, text },
    ]);
    await using instance = await fixture.startInstance({ sourceAccess, ...slowly });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const copied = fixture.cluster1.client.db('shop').collection<Order>('orders');
    expect(await copied.findOne(highest)).toEqual({ ...highest, n: 0, text });
    await orders.updateOne(highest, { $inc: { n: 1 } });
    await instance.commitWhenOffered();
    expect(await copied.findOne(highest)).toEqual({ ...highest, n: 1, text });
    await expectEqualDatabases(fixture, 'shop');
  },
);
