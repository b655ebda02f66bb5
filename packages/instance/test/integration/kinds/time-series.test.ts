import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Scene } from '../contract/scene.js';
import { refuses, startBody } from '../contract/start-conditions.js';

let scene: Scene;

beforeAll(async () => {
  scene = await Scene.open('replicaSet', 'replicaSet', { cluster0: '6.0', cluster1: '6.0' });
});

afterAll(() => scene.close());
afterEach(() => scene.clear());

async function makeSeries(): Promise<void> {
  await scene.cluster0.client.db('shop').createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
  await scene.cluster0.client.db('shop').collection('readings').insertOne({ at: new Date(), sensor: 1, value: 2 });
}

it('time series are refused until they are excluded', async () => {
  await scene.cluster0.client.db('shop').collection('orders').insertOne({});
  await makeSeries();
  await using instance = await scene.startInstance();
  await refuses(scene, instance, startBody(), { status: 422, error: 'timeSeriesNotSupported', says: /shop\.readings.*exclude them/ });
  await instance.migrate(startBody({ excludeNamespaces: [{ database: 'shop', collections: ['readings'] }] }));
  const migrated = await scene.cluster1.client.db('shop').listCollections().toArray();
  expect(migrated.map(({ name }) => name)).toEqual(['orders']);
});

it('a time series that appears during the migration ends it instead of being left behind', async () => {
  await scene.cluster0.client.db('shop').collection('orders').insertOne({});
  await using instance = await scene.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await makeSeries();
  await instance.accepted('commit');
  await expect.poll(async () => (await instance.progressReply()).body.error as unknown, { timeout: 100_000 }).toBe('timeSeriesNotSupported');
});
