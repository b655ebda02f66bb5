import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { refuses, startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

const releases = { cluster0: '5.0', cluster1: '5.0' } as const;
let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

async function makeSeries({ cluster0 }: Fixture): Promise<void> {
  await cluster0.client
    .db('shop')
    .createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
}

/** Lets an instance copy one order and follow the source. */
async function followOrder({ cluster0 }: Fixture, instance: ServedInstance): Promise<void> {
  await cluster0.client.db('shop').collection<{ _id: number }>('orders').insertOne({ _id: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
}

async function isLeftOut(instance: ServedInstance): Promise<boolean> {
  return ((await instance.progress()).warnings ?? []).some(({ name }) => name === 'timeSeriesLeftOut');
}

const refusal = {
  status: 422,
  error: 'timeSeriesNotSupported',
  says: /^cluster0 is of release 5\.0, .*shop\.readings.*Exclude them .*restore, or upgrade cluster0 to 6\.0 first/,
} as const;

it('time series of a source before 6.0 are refused until they are excluded', async () => {
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({});
  await makeSeries(fixture);
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody(), refusal);
  await instance.migrate(startBody({ excludeNamespaces: [{ database: 'shop', collections: ['readings'] }] }));
  const migrated = await fixture.cluster1.client.db('shop').listCollections().toArray();
  expect(migrated.map(({ name }) => name)).toEqual(['orders']);
});

it('they are refused the same way of a sharded cluster, read from its shards or through its routers', async () => {
  await using sharded = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
  await makeSeries(sharded);
  for (const sourceAccess of ['direct', 'router']) {
    await using instance = await sharded.startInstance({ sourceAccess });
    await refuses(sharded, instance, startBody(), refusal);
  }
});

it('a time series that appears during the migration is left out with a warning, which also names views', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await followOrder(fixture, instance);
  await makeSeries(fixture);
  await shop.createCollection('latest', { viewOn: 'readings', pipeline: [{ $limit: 1 }] });
  await shop.collection<{ _id: number }>('orders').insertOne({ _id: 2 });
  await expect
    .poll(async () => (await instance.progress()).warnings)
    .toContainEqual({
      name: 'timeSeriesLeftOut',
      description: expect.stringMatching(/shop\.readings\. .*views lack .*shop\.latest\..*mongodump/) as unknown,
    });
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await expect.poll(async () => (await instance.progress()).state).toBe('COMMITTED');
  expect((await instance.progress()).warnings?.map(({ name }) => name)).toContain('timeSeriesLeftOut');
  const migrated = fixture.cluster1.client.db('shop');
  const listed = await migrated.listCollections().toArray();
  expect(
    listed
      .map(({ name }) => name)
      .filter((name) => !name.startsWith('system.'))
      .sort(),
  ).toEqual(['latest', 'orders']);
  expect(await migrated.collection<{ _id: number }>('orders').distinct('_id')).toEqual([1, 2]);
});

it('a collection that takes the name of a time series that was left out is migrated, with a view of it', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await followOrder(fixture, instance);
  await makeSeries(fixture);
  await shop.collection<{ at: Date }>('readings').insertOne({ at: new Date(0) });
  await shop.createCollection('latest', { viewOn: 'readings', pipeline: [{ $limit: 1 }] });
  await expect.poll(() => isLeftOut(instance)).toBe(true);
  await shop.collection('readings').drop();
  const taker = shop.collection<{ _id: number; n?: number }>('readings');
  await taker.insertMany([{ _id: 1 }, { _id: 2 }, { _id: 3 }]);
  await taker.createIndex({ n: 1 }, {}, {});
  await expect.poll(() => isLeftOut(instance)).toBe(false);
  await taker.updateOne({ _id: 1 }, { $set: { n: 1 } });
  await taker.deleteOne({ _id: 2 });
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
  const migrated = fixture.cluster1.client.db('shop').collection('latest').find();
  expect(await migrated.toArray()).toEqual([{ _id: 1, n: 1 }]);
});

it('a view that takes the name of a time series that was left out is migrated', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await followOrder(fixture, instance);
  await makeSeries(fixture);
  await expect.poll(() => isLeftOut(instance)).toBe(true);
  await shop.collection('readings').drop();
  await shop.createCollection('readings', { viewOn: 'orders', pipeline: [] });
  await expect.poll(() => isLeftOut(instance)).toBe(false);
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
  expect(await fixture.cluster1.client.db('shop').collection('readings').find().toArray()).toEqual([{ _id: 1 }]);
});

it('a view that somebody creates on an excluded time series is named, until it is dropped', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection<{ _id: number }>('orders').insertOne({ _id: 1 });
  await makeSeries(fixture);
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody({ excludeNamespaces: [{ database: 'shop', collections: ['readings'] }] }));
  await instance.untilCanCommit();
  const warned = async () =>
    (await instance.progress()).warnings?.find(({ name }) => name === 'viewSourceLeftOut')?.description;
  expect(await warned()).toBeUndefined();
  await shop.createCollection('latest', { viewOn: 'readings', pipeline: [{ $limit: 1 }] });
  await expect.poll(warned).toMatch(/excludes .*: shop\.latest \(reads shop\.readings\)\./);
  await shop.collection('latest').drop();
  await expect.poll(warned).toBeUndefined();
  await instance.commitWhenOffered();
});
