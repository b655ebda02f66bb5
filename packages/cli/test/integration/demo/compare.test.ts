import { MongoClient, type Db } from 'mongodb';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { compareClusters } from '@convoy/cli/demo/compare';
import { Closers } from '@convoy/testbed/closers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';

const closers = new Closers();
const clients: Partial<Record<'source' | 'destination', MongoClient>> = {};

const shards: Record<'source' | 'destination', MongoClient[]> = { source: [], destination: [] };

const client = (side: 'source' | 'destination'): MongoClient => {
  const found = clients[side];
  if (!found) throw new Error(`There is no ${side}.`);
  return found;
};
const orders = (shop: Db) => shop.collection<{ _id: number; value: number }>('orders');
const compare = () => compareClusters(client('source'), client('destination'));

beforeAll(async () => {
  const folder = closers.use(ScratchFolder.create('test'));
  for (const side of ['source', 'destination'] as const) {
    const cluster = closers.use(
      await startTestCluster({ name: side, side, topology: { shards: 2 }, folder, isHere: true }),
    );
    const connected = new MongoClient(cluster.connectionString);
    closers.defer(() => connected.close());
    clients[side] = connected;
    for (const id of cluster.shardIds) {
      const shard = new MongoClient(cluster.shardConnectionString(id));
      closers.defer(() => shard.close());
      shards[side].push(shard);
    }
  }
});

afterAll(() => closers[Symbol.asyncDispose]());

/** Both sides start each test with the same data. */
beforeEach(async () => {
  for (const side of ['source', 'destination'] as const) {
    const shop = client(side).db('shop');
    await shop.dropDatabase();
    const admin = client(side).db('admin');
    await admin.command({ enableSharding: 'shop' });
    await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
    await orders(shop).insertMany(Array.from({ length: 300 }, (_, _id) => ({ _id, value: _id % 7 })));
    await orders(shop).createIndexes([{ key: { value: 1 } }]);
    await shop.createCollection('log', { capped: true, size: 65_536 });
    await shop.collection<{ _id: number }>('log').insertMany([{ _id: 2 }, { _id: 1 }]);
    await shop.createCollection('recent', { viewOn: 'orders', pipeline: [{ $match: { value: 1 } }] });
  }
});

test('equal clusters are equal', async () => {
  expect(await compare()).toMatchObject({ equal: true, collections: 2, documents: 302, differences: [] });
});

/** Stops the index builds of the destination before their first document, or continues them. */
async function holdBuilds(mode: 'alwaysOn' | 'off'): Promise<void> {
  for (const shard of shards.destination)
    await shard.db('admin').command({ configureFailPoint: 'hangAfterInitializingIndexBuild', mode });
}

test('an index that the destination is still building is not one that it has', async () => {
  const index = [{ key: { value: -1 } as const, name: 'latest' }];
  await orders(client('source').db('shop')).createIndexes(index);
  await holdBuilds('alwaysOn');
  const built = orders(client('destination').db('shop')).createIndexes(index);
  try {
    await expect.poll(async () => (await compare()).differences).toEqual([expect.stringContaining('"building":true')]);
  } finally {
    await holdBuilds('off');
    await built;
  }
  expect(await compare()).toMatchObject({ equal: true, differences: [] });
});

test.each<[string, (shop: Db) => Promise<unknown>, string]>([
  [
    'a changed document',
    (shop) => orders(shop).updateOne({ _id: 5 }, { $set: { value: 99 } }),
    'shop.orders: document {"$numberInt":"5"} differs in value',
  ],
  [
    'a missing document',
    (shop) => orders(shop).deleteOne({ _id: 5 }),
    'shop.orders: document {"$numberInt":"5"} is missing on the destination',
  ],
  [
    'an additional document',
    (shop) => shop.collection<{ _id: string }>('orders').insertOne({ _id: 'new' }),
    'shop.orders: document "new" is only on the destination',
  ],
  ['a missing index', (shop) => shop.collection('orders').dropIndex('value_1'), 'shop.orders: indexes differ'],
  [
    'an index with a different option',
    (shop) => shop.collection('log').createIndexes([{ key: { at: 1 }, sparse: true }]),
    'shop.log: indexes differ',
  ],
  [
    'other options',
    (shop) => shop.command({ collMod: 'orders', validator: { value: { $gte: 0 } } }),
    'shop.orders: options differ',
  ],
  ['a missing view', (shop) => shop.dropCollection('recent'), 'shop.recent is missing on the destination'],
  ['a collection too many', (shop) => shop.createCollection('extra'), 'shop.extra is only on the destination'],
])('%s is found', async (_what, change, difference) => {
  await change(client('destination').db('shop'));
  const { equal, differences } = await compare();
  expect(equal).toBe(false);
  expect(differences).toHaveLength(1);
  expect(differences[0]?.startsWith(difference)).toBe(true);
});

test('the order of a capped collection counts', async () => {
  const log = client('destination').db('shop');
  await log.dropCollection('log');
  await log.createCollection('log', { capped: true, size: 65_536 });
  await log.collection<{ _id: number }>('log').insertMany([{ _id: 1 }, { _id: 2 }]);
  expect((await compare()).differences).toEqual(['shop.log: the documents are in a different order']);
});

test('buckets of a time series, and their shard key, are compared', async () => {
  for (const side of ['source', 'destination'] as const) {
    const shop = client(side).db('shop');
    await shop.createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
    await shop.collection('readings').insertOne({ at: new Date(0), sensor: 1, value: 1 });
  }
  const buckets = (side: 'source' | 'destination') => client(side).db('shop').collection('system.buckets.readings');
  await buckets('destination').deleteMany({});
  await buckets('destination').insertMany(await buckets('source').find({}, { promoteValues: false }).toArray());
  expect(await compare()).toMatchObject({ equal: true, collections: 3, documents: 303 });
  await client('destination')
    .db('shop')
    .collection('readings')
    .insertOne({ at: new Date(9), sensor: 2, value: 2 });
  const [more = ''] = (await compare()).differences;
  expect(more).toMatch(/^shop\.system\.buckets\.readings: document .* is only on the destination$/);
  await client('destination')
    .db('admin')
    .command({ shardCollection: 'shop.readings', key: { sensor: 1 } });
  const { differences } = await compare();
  expect(differences.some((difference) => difference.startsWith('shop.readings: shardKey differ'))).toBe(true);
});

test('a different shard key is found', async () => {
  const { destination } = clients;
  await destination?.db('shop').dropCollection('orders');
  await destination?.db('admin').command({ shardCollection: 'shop.orders', key: { value: 1 } });
  const { differences } = await compare();
  expect(differences.some((difference) => difference.startsWith('shop.orders: shardKey differ'))).toBe(true);
});
