import type { ReleaseSeries } from '@convoy/simulator';
import type { Collection } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import { startBody } from './start-conditions.js';
import { sampled } from '../../../../../test/seed.js';

interface Order {
  _id: number;
  customer: number;
  paid?: boolean;
}

const orderCount = 200;
/** Each release as source and as destination; a usual run has one that crosses releases, and one that does not. */
const crossing: [ReleaseSeries, ReleaseSeries][] = [
  ['5.0', '8.0'],
  ['5.0', '6.0'],
  ['7.0', '8.0'],
];
const same: [ReleaseSeries, ReleaseSeries][] = [
  ['6.0', '6.0'],
  ['7.0', '7.0'],
  ['8.0', '8.0'],
];
const pairs = [...sampled(crossing), ...sampled(same)];

function ordersOf(fixture: Fixture, side: 'cluster0' | 'cluster1'): Collection<Order> {
  return fixture[side].client.db('shop').collection('orders');
}

it.each(pairs)(
  'a sharded collection with its indexes and later changes moves from %s to %s',
  async (source, destination) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: source, cluster1: destination });
    const admin = fixture.cluster0.client.db('admin');
    await admin.command({ enableSharding: 'shop' });
    await admin.command({ shardCollection: 'shop.orders', key: { customer: 1 } });
    await admin.command({ split: 'shop.orders', middle: { customer: 10 } });
    const orders = ordersOf(fixture, 'cluster0');
    await orders.insertMany(Array.from({ length: orderCount }, (_, id) => ({ _id: id, customer: id % 20 })));
    await orders.createIndexes([
      { key: { paid: 1 }, sparse: true },
      { key: { customer: 1, _id: 1 }, unique: true },
    ]);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await orders.updateMany({ customer: 3 }, { $set: { paid: true } });
    await orders.deleteMany({ customer: 4 });
    await orders.insertOne({ _id: orderCount, customer: 99 });
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    const copied = ordersOf(fixture, 'cluster1');
    expect(await copied.find().sort({ _id: 1 }).toArray()).toEqual(await orders.find().sort({ _id: 1 }).toArray());
    const byName = (a: { name?: unknown }, b: { name?: unknown }): number =>
      String(a.name).localeCompare(String(b.name));
    expect((await copied.indexes()).sort(byName)).toEqual((await orders.indexes()).sort(byName));
    const row = await fixture.cluster1.client
      .db('config')
      .collection<{ _id: string; key: unknown }>('collections')
      .findOne({ _id: 'shop.orders' });
    expect(row?.key).toEqual({ customer: 1 });
  },
);
