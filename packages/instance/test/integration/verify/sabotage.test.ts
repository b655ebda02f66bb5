import { backendVersion } from '@convoy/testbed/cluster/server-version';
import { Double, Int32, Long, ObjectId, type Db, type MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TwoClusters } from './two-clusters.js';

const [sourceRelease] = await backendVersion(undefined, 'source');
const [destinationRelease] = await backendVersion(undefined, 'destination');

let clusters: TwoClusters;
beforeAll(async () => {
  clusters = await TwoClusters.open();
});
afterAll(() => clusters[Symbol.asyncDispose]());

interface Order {
  _id: number;
  value: unknown;
  nested?: unknown;
}

/** Both sides start with the same content; it may be on other shards. */
beforeEach(async () => {
  for (const { client } of clusters.sides) await fill(client);
});

async function fill(client: MongoClient): Promise<void> {
  const shop = client.db('shop');
  await shop.dropDatabase();
  await client.db('words').dropDatabase();
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await admin.command({ shardCollection: 'shop.parts', key: { region: 1 } });
  await shop
    .collection<Order>('orders')
    .insertMany(Array.from({ length: 300 }, (_, _id) => ({ _id, value: _id % 7, nested: { a: 1, b: [1, 2] } })));
  await shop.collection('orders').createIndexes([
    { key: { value: 1 }, name: 'value_1' },
    { key: { seen: 1 }, name: 'seen_1', expireAfterSeconds: 100_000 },
  ]);
  await shop.collection<{ _id: number; region: number }>('parts').insertMany([
    { _id: 1, region: 1 },
    { _id: 2, region: 2 },
  ]);
  await shop.createCollection('log', { capped: true, size: 65_536 });
  await shop.collection<{ _id: number }>('log').insertMany([{ _id: 2 }, { _id: 1 }]);
  await shop.createCollection('recent', { viewOn: 'orders', pipeline: [{ $match: { value: 1 } }] });
  await client.db('words').createCollection('list', { collation: { locale: 'en', strength: 2 } });
  await client
    .db('words')
    .collection<{ _id: string }>('list')
    .insertMany([{ _id: 'b' }, { _id: 'A' }, { _id: 'ä' }]);
}

const one = (kind: string, id: unknown, paths: unknown[] = []): unknown[] => [
  expect.objectContaining({ namespace: 'shop.orders', kind, _id: id, paths, proven: true }),
];
const five = { $numberInt: '5' };
const orders = (shop: Db) => shop.collection<Order>('orders');
const set = (value: unknown) => (shop: Db) => orders(shop).updateOne({ _id: 5 }, { $set: { value } });
const changedTo = (destinationType: string) => [{ path: 'value', kind: 'changed', sourceType: 'int', destinationType }];

/** A NaN with a payload. */
const nan = (payload: number): Double => new Double(Buffer.from([payload, 0, 0, 0, 0, 0, 0xf8, 0x7f]).readDoubleLE(0));

describe('documents', () => {
  test('of equal clusters are equal, in collections of all kinds', async () => {
    const compared = await clusters.compare();
    expect(compared).toMatchObject({
      verdict: 'equal',
      differences: [],
      notCompared: [],
      documents: [],
      collections: 4,
      namespaces: 5,
      totals: { sourceDocuments: 307, destinationDocuments: 307, suspects: 0 },
    });
  });

  test.each<[string, (shop: Db) => Promise<unknown>, unknown[]]>([
    ['changed', set(99), one('different', five, changedTo('int'))],
    ['removed', (shop) => orders(shop).deleteOne({ _id: 5 }), one('missingOnDestination', five)],
    [
      'added',
      (shop) => orders(shop).insertOne({ _id: 1_000, value: 1 }),
      one('extraOnDestination', { $numberInt: '1000' }),
    ],
    [
      'with the order of its fields swapped',
      (shop) => orders(shop).replaceOne({ _id: 5 }, { nested: { a: 1, b: [1, 2] }, value: 5 }),
      one('different', five, [{ path: '', kind: 'order' }]),
    ],
    [
      'with the order of embedded fields swapped',
      (shop) => orders(shop).replaceOne({ _id: 5 }, { value: 5, nested: { b: [1, 2], a: 1 } }),
      one('different', five, [{ path: 'nested', kind: 'order' }]),
    ],
    ['with a number of another type', set(Long.fromNumber(5)), one('different', five, changedTo('long'))],
    [
      'with an array that is shorter',
      (shop) => orders(shop).updateOne({ _id: 5 }, { $pop: { 'nested.b': 1 } }),
      one('different', five, [{ path: 'nested.b.1', kind: 'missingOnDestination', sourceType: 'int' }]),
    ],
  ])('%s on the destination are found and named', async (_what, sabotage, expected) => {
    await sabotage(clusters.destination.client.db('shop'));
    const compared = await clusters.compare();
    expect(compared).toMatchObject({ verdict: 'different', differences: [], totals: { mismatches: 1, suspects: 0 } });
    expect(compared.documents).toEqual(expected);
  });

  test.each<[string, unknown, unknown]>([
    ['-0 for 0', new Double(0), new Double(-0)],
    ['another payload of NaN', nan(1), nan(2)],
  ])('with %s are found', async (_what, here, there) => {
    await set(here)(clusters.source.client.db('shop'));
    await set(there)(clusters.destination.client.db('shop'));
    expect((await clusters.compare()).documents).toEqual(
      one('different', five, [{ path: 'value', kind: 'changed', sourceType: 'double', destinationType: 'double' }]),
    );
  });

  test('whose _id is of another type are found', async () => {
    const shop = clusters.destination.client.db('shop');
    const document = await orders(shop).findOne({ _id: 5 });
    await orders(shop).deleteOne({ _id: 5 });
    await shop
      .collection<{ _id: Double; value: Int32 }>('orders')
      .insertOne({ ...document, _id: new Double(5), value: new Int32(5) });
    expect((await clusters.compare()).documents).toEqual(
      one('different', five, [{ path: '_id', kind: 'changed', sourceType: 'int', destinationType: 'double' }]),
    );
  });

  test('of one _id on several shards are distinguished', async () => {
    for (const [position, { client }] of clusters.sides.entries()) {
      await client.db('admin').command({ split: 'shop.parts', middle: { region: 10 } });
      await client
        .db('admin')
        .command({ moveChunk: 'shop.parts', find: { region: 10 }, to: 'shard1', _waitForDelete: true });
      await client
        .db('admin')
        .command({ moveChunk: 'shop.parts', find: { region: 1 }, to: 'shard0', _waitForDelete: true });
      const parts = client.db('shop').collection<{ _id: number; region: number; n?: number }>('parts');
      await parts.insertMany([
        { _id: 7, region: 5 },
        { _id: 7, region: 15 },
        { _id: 8, region: 5 },
      ]);
      if (position === 0) await parts.insertOne({ _id: 8, region: 15 });
    }
    const compared = await clusters.compare();
    expect(compared.documents).toEqual([
      expect.objectContaining({ namespace: 'shop.parts', kind: 'missingOnDestination', _id: { $numberInt: '8' } }),
    ]);
  });

  test('of a collation, which only the servers can order, are found', async () => {
    const list = clusters.destination.client.db('words').collection<{ _id: string; n?: number }>('list');
    await list.deleteOne({ _id: 'a' });
    await list.updateOne({ _id: 'b' }, { $set: { n: 1 } });
    await list.insertOne({ _id: 'z' });
    const compared = await clusters.compare();
    expect(compared.documents.map(({ kind, _id }) => [kind, _id]).sort()).toEqual([
      ['different', 'b'],
      ['extraOnDestination', 'z'],
      ['missingOnDestination', 'A'],
    ]);
  });

  test('of capped collections are found', async () => {
    await clusters.destination.client.db('shop').collection<{ _id: number }>('log').insertOne({ _id: 3 });
    expect((await clusters.compare()).documents).toMatchObject([{ namespace: 'shop.log', kind: 'extraOnDestination' }]);
  });
});

describe('ddlChanges', () => {
  test('the insertion order of a capped collection counts, however much is left of its start', async () => {
    const refill = async (client: MongoClient, ids: readonly number[]) => {
      await client.db('shop').dropCollection('log');
      await client.db('shop').createCollection('log', { capped: true, size: 65_536 });
      await client
        .db('shop')
        .collection<{ _id: number }>('log')
        .insertMany(ids.map((_id) => ({ _id })));
    };
    await refill(clusters.destination.client, [1, 2]);
    expect(await clusters.compare()).toMatchObject({
      verdict: 'different',
      documents: [],
      differences: [{ kind: 'order', namespace: 'shop.log' }],
    });
    await refill(clusters.destination.client, [2, 1]);
    expect(await clusters.compare()).toMatchObject({ verdict: 'equal' });
    await refill(clusters.destination.client, [3, 2, 1]);
    expect(await clusters.compare()).toMatchObject({
      verdict: 'different',
      differences: [],
      totals: { mismatches: 1 },
    });
  });

  test('a time series that one side keeps in an older form is named, and is no difference', async () => {
    await using pair = await TwoClusters.open([0, 0], {}, { source: '5.0', destination: '8.0' });
    for (const { client } of pair.sides) {
      await client.db('shop').createCollection('weather', { timeseries: { timeField: 'at' } });
      await client
        .db('shop')
        .collection('orders')
        .insertOne({ _id: new ObjectId('0'.repeat(24)) });
    }
    const named = { verdict: 'incomplete', differences: [], notCompared: [{ namespace: 'shop.weather' }] };
    expect(await pair.compare()).toMatchObject(named);
    const there = pair.destination.client.db('shop');
    await there.dropCollection('weather');
    const missing = { kind: 'missing', namespace: 'shop.weather', detail: 'timeseries' };
    expect(await pair.compare()).toMatchObject({ verdict: 'different', differences: [missing], notCompared: [] });
  });

  const isCompared = sourceRelease >= 6 && destinationRelease >= 6;
  test.runIf(isCompared)(
    'a time series is compared by its buckets, byte for byte, under the name of its users',
    async () => {
      for (const { client } of clusters.sides)
        await client.db('shop').createCollection('weather', { timeseries: { timeField: 'at' } });
      const [here, there] = clusters.sides.map(({ client }) => client.db('shop'));
      await here?.collection('weather').insertOne({ at: new Date(0), degrees: 20 });
      const buckets = there?.collection('system.buckets.weather');
      const [bucket] = (await here?.collection('system.buckets.weather').find().toArray()) ?? [];
      await buckets?.insertOne({ ...bucket }, { bypassDocumentValidation: true });
      expect(await clusters.compare()).toMatchObject({ verdict: 'equal' });
      await buckets?.updateOne({}, { $set: { 'control.min.degrees': 19 } }, { bypassDocumentValidation: true });
      expect(await clusters.compare()).toMatchObject({
        verdict: 'different',
        totals: { mismatches: 1 },
      });
      await there?.dropCollection('weather');
      expect(await clusters.compare()).toMatchObject({
        verdict: 'different',
        differences: [{ kind: 'missing', namespace: 'shop.weather' }],
      });
    },
  );

  test.each<[string, (shop: Db) => Promise<unknown>, unknown[]]>([
    [
      'a missing index',
      (shop) => shop.collection('orders').dropIndex('value_1'),
      [{ kind: 'index', namespace: 'shop.orders', detail: 'value_1 is missing' }],
    ],
    [
      'an option of an index',
      (shop) => shop.command({ collMod: 'orders', index: { name: 'seen_1', expireAfterSeconds: 5 } }),
      [{ kind: 'index', namespace: 'shop.orders', detail: 'seen_1 differs in expireAfterSeconds' }],
    ],
    [
      'an extra index',
      (shop) => shop.collection('log').createIndexes([{ key: { at: 1 }, sparse: true }]),
      [{ kind: 'index', namespace: 'shop.log', detail: 'at_1 is extra' }],
    ],
    [
      'a view',
      (shop) => shop.command({ collMod: 'recent', viewOn: 'orders', pipeline: [{ $match: { value: 2 } }] }),
      [{ kind: 'options', namespace: 'shop.recent', detail: 'pipeline' }],
    ],
    [
      'a validator',
      (shop) => shop.command({ collMod: 'orders', validator: { value: { $gte: 0 } } }),
      [{ kind: 'options', namespace: 'shop.orders', detail: 'validator' }],
    ],
    [
      'a missing view',
      (shop) => shop.dropCollection('recent'),
      [{ kind: 'missing', namespace: 'shop.recent', detail: 'view' }],
    ],
    [
      'a missing collection',
      (shop) => shop.dropCollection('log'),
      [{ kind: 'missing', namespace: 'shop.log', detail: 'collection' }],
    ],
    [
      'an extra collection',
      (shop) => shop.createCollection('extra'),
      [{ kind: 'extra', namespace: 'shop.extra', detail: 'collection is not on the source' }],
    ],
  ])('%s is found and named', async (_what, sabotage, expected) => {
    await sabotage(clusters.destination.client.db('shop'));
    const compared = await clusters.compare();
    expect(compared).toMatchObject({ verdict: 'different', documents: [] });
    expect(compared.differences).toEqual(expected);
  });

  test('another shard key is found, unless that is intended', async () => {
    const { client } = clusters.destination;
    const documents = await orders(client.db('shop')).find().toArray();
    await client.db('shop').dropCollection('orders');
    await client.db('admin').command({ shardCollection: 'shop.orders', key: { value: 1 } });
    await orders(client.db('shop')).insertMany(documents);
    await orders(client.db('shop')).createIndexes([
      { key: { _id: 'hashed' } },
      { key: { seen: 1 }, name: 'seen_1', expireAfterSeconds: 100_000 },
    ]);
    const filter = { includeNamespaces: [{ database: 'shop', collections: ['orders'] }] };
    expect(await clusters.compare({ filter })).toMatchObject({
      verdict: 'different',
      documents: [],
      differences: [{ kind: 'shardKey', namespace: 'shop.orders' }],
      shardKeysCompared: true,
    });
    expect(await clusters.compare({ filter, options: { shardKeys: false } })).toMatchObject({
      verdict: 'equal',
      shardKeysCompared: false,
    });
  });
});
