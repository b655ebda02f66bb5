import { afterAll, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());

it('views on views, of collections that do not exist, of sharded ones and with a collation', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await shop.createCollection('a_top', { viewOn: 'b_middle', pipeline: [{ $match: { n: { $gt: 5 } } }] });
  await shop.createCollection('b_middle', { viewOn: 'c_bottom', pipeline: [{ $project: { n: 1 } }] });
  await shop.createCollection('c_bottom', { viewOn: 'orders', pipeline: [] });
  await shop.createCollection('of_nothing', {
    viewOn: 'no such collection',
    pipeline: [{ $match: { 'a.b': { $in: [1, null] } } }],
  });
  await shop.createCollection('collated', { viewOn: 'orders', pipeline: [], collation: { locale: 'de', strength: 1 } });
  await shop.createCollection('joined', {
    viewOn: 'orders',
    pipeline: [{ $lookup: { from: 'c_bottom', localField: 'n', foreignField: 'n', as: 'same' } }],
  });
  const admin = fixture.cluster0.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await shop
    .collection<{ _id: number; n: number }>('orders')
    .insertMany(Array.from({ length: 10 }, (_, _id) => ({ _id, n: _id })));
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody());

  await expectEqualDatabases(fixture, 'shop');
  const top = await fixture.cluster1.client
    .db('shop')
    .collection<{ _id: number }>('a_top')
    .find()
    .sort({ _id: 1 })
    .toArray();
  expect(top.map(({ _id }) => _id)).toEqual([6, 7, 8, 9]);
});
