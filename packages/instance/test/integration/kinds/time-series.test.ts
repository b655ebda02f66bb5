import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { refuses, startBody } from '../contract/start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '6.0', cluster1: '6.0' });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

async function makeSeries(): Promise<void> {
  await fixture.cluster0.client
    .db('shop')
    .createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
}

it('time series are refused until they are excluded', async () => {
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

it('a time series that appears during the migration ends it instead of being left out', async () => {
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({});
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await makeSeries();
  // The migration may have ended by then.
  await instance.command('commit');
  await expect.poll(async () => (await instance.progressReply()).body.error as unknown).toBe('timeSeriesNotSupported');
});
