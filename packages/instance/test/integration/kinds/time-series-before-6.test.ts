import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { refuses, startBody } from '../contract/start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '5.0', cluster1: '5.0' });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

async function makeSeries(): Promise<void> {
  await fixture.cluster0.client
    .db('shop')
    .createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
}

it('time series of a source before 6.0 are refused until they are excluded', async () => {
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({});
  await makeSeries();
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody(), {
    status: 422,
    error: 'timeSeriesNotSupported',
    says: /shop\.readings.*Exclude them/,
  });
  await instance.migrate(startBody({ excludeNamespaces: [{ database: 'shop', collections: ['readings'] }] }));
  const migrated = await fixture.cluster1.client.db('shop').listCollections().toArray();
  expect(migrated.map(({ name }) => name)).toEqual(['orders']);
});

it('a time series that appears during the migration is left out with a warning, which also names views', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection<{ _id: number }>('orders').insertOne({ _id: 1 });
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await makeSeries();
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

it('a view that somebody creates on an excluded time series is named, until it is dropped', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection<{ _id: number }>('orders').insertOne({ _id: 1 });
  await makeSeries();
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
