import fc from 'fast-check';
import type { Document, MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isFullRun, testSeed } from '../../../../../test/seed.js';
import { Fixture, readsShards, type Shape } from './fixture.js';
import type { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';

/** A whole database, a collection of it that goes elsewhere, and one that only changes its name. */
const namespaceRemap = [
  { from: { database: 'shop' }, to: { database: 'store' } },
  { from: { database: 'shop', collection: 'orders' }, to: { database: 'archive', collection: 'purchases' } },
  { from: { database: 'crm', collection: 'people' }, to: { database: 'crm', collection: 'contacts' } },
];

/** The same by hand. */
function there(namespace: string): string {
  if (namespace === 'shop.orders') return 'archive.purchases';
  if (namespace === 'crm.people') return 'crm.contacts';
  return namespace.replace(/^shop\./, 'store.');
}

/** `orders` is in another database of the destination than the others of `shop`. */
const collections = ['shop.orders', 'shop.items', 'shop.carts', 'crm.people', 'crm.notes'] as const;
const documentsMax = 60;
/** Before the copy is done, and after it. */
const changesOfPhase = isFullRun ? 150 : 75;

const change = fc.record({
  kind: fc.oneof(
    { weight: 16, arbitrary: fc.constantFrom('insert', 'set', 'replace', 'delete') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('create', 'drop', 'rename', 'renameOver', 'index', 'dropIndex', 'validator'),
    },
  ),
  namespace: fc.constantFrom(...collections),
  other: fc.constantFrom(...collections),
  id: fc.nat({ max: documentsMax }),
  value: fc.nat({ max: 1_000 }),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function split(namespace: string): [string, string] {
  const dot = namespace.indexOf('.');
  return [namespace.slice(0, dot), namespace.slice(dot + 1)];
}

/** What is not possible now: a collection or index is missing or there already, or is being changed. */
const refusals = new Set<unknown>([
  20, 26, 27, 48, 68, 72, 73, 85, 86, 117, 166, 175, 215, 276, 10_107, 11_000, 12_587, 13_388, 5_807_601,
]);

interface Numbered {
  _id: number;
  value?: unknown;
}

async function apply(client: MongoClient, one: Change): Promise<void> {
  const [[database, name], [otherDatabase, other]] = [split(one.namespace), split(one.other)];
  const db = client.db(database);
  const documents = db.collection<Numbered>(name);
  const key = { _id: one.id };
  const work = {
    insert: () => documents.insertOne({ ...key, value: one.value }),
    set: () => documents.updateOne(key, { $set: { value: one.value, [`f${one.value % 7}`]: one.value } }),
    replace: () => documents.replaceOne(key, { value: [one.value] }, { upsert: true }),
    delete: () => documents.deleteOne(key),
    create: () => db.createCollection(name),
    drop: () => documents.drop(),
    rename: () => (otherDatabase === database ? documents.rename(other) : Promise.resolve()),
    renameOver: () => (otherDatabase === database ? documents.rename(other, { dropTarget: true }) : Promise.resolve()),
    index: () => documents.createIndexes([{ key: { value: 1 }, name: 'value_1' }]),
    dropIndex: () => documents.dropIndex('value_1'),
    validator: () => db.command({ collMod: name, validator: { a: one.value }, validationAction: 'warn' }),
  };
  await work[one.kind]().catch((error: unknown) => {
    const { code, originalError } = error as { code?: unknown; originalError?: { code?: unknown } };
    if (!refusals.has(code ?? originalError?.code)) throw error;
  });
}

/** Every collection and view of users with options, indexes and documents, by the name that `nameOf` gives it. */
async function contentsOf(
  client: MongoClient,
  nameOf: (namespace: string) => string,
): Promise<Record<string, unknown>> {
  const contents: Record<string, unknown> = {};
  for (const { name: database } of (await client.db('admin').admin().listDatabases()).databases) {
    if (['admin', 'config', 'local', 'convoy_metadata'].includes(database)) continue;
    const listed = await client.db(database).listCollections({}, { nameOnly: false }).toArray();
    for (const { name, type, options } of listed) {
      if (name.startsWith('system.')) continue;
      const collection = client.db(database).collection(name);
      contents[nameOf(`${database}.${name}`)] = {
        options: type === 'view' ? null : options,
        indexes: type === 'view' ? null : (await collection.indexes()).map(({ key, name: index }) => [index, key]),
        documents: await collection.find().sort({ _id: 1 }).toArray(),
      };
    }
  }
  return contents;
}

/** What does not depend on how the source is read runs on one of them, and on all with CONVOY_TEST_FULL=1. */
describe.each<[string, Shape, boolean, object]>([
  ['a replica set', 'replicaSet', false, {}],
  ['sharded clusters, through the router', { shards: 2 }, false, { sourceAccess: 'router' }],
  ['sharded clusters, directly from the shards', { shards: 2 }, true, readsShards],
])('namespaceRemap on %s', (_what, shape, withUsers, settings) => {
  let fixture: Fixture;

  beforeAll(async () => {
    fixture = await Fixture.open(shape, shape, { withUsers });
  });

  afterAll(() => fixture.close());
  afterEach(() => fixture.clear());

  async function load(): Promise<void> {
    const { client } = fixture.cluster0;
    const admin = client.db('admin');
    if (shape !== 'replicaSet')
      for (const namespace of ['shop.orders', 'shop.items']) {
        await admin.command({ enableSharding: 'shop' });
        await admin.command({ shardCollection: namespace, key: { _id: 'hashed' } });
      }
    for (const namespace of collections) {
      const [database, name] = split(namespace);
      const documents = Array.from({ length: documentsMax }, (_, _id) => ({ _id, value: _id }));
      await client.db(database).collection<Numbered>(name).insertMany(documents);
    }
    await client.db('crm').createCollection('named', { viewOn: 'people', pipeline: [{ $match: { value: 3 } }] });
    await client.db('untouched').collection('orders').insertOne({ a: 1 });
  }

  async function started(more: Document = {}): Promise<ServedInstance> {
    const instance = await fixture.startInstance({ ...settings, catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody({ namespaceRemap, ...more }));
    return instance;
  }

  it(
    'every collection arrives under its other name, whatever happens to it meanwhile',
    { timeout: 300_000 },
    async () => {
      await load();
      const { client } = fixture.cluster0;
      const changes = fc.sample(change, { seed: testSeed, numRuns: 2 * changesOfPhase });
      await using instance = await started();
      for (const one of changes.slice(0, changesOfPhase)) await apply(client, one);
      await client.db('shop').collection('late').insertOne({ a: 1 });
      await instance.untilCanCommit();
      await client.db('shop').collection('late').rename('later');
      await client.db('shop').collection('later').insertOne({ a: 2 });
      for (const one of changes.slice(changesOfPhase)) await apply(client, one);
      // The view reads what is there now.
      await client
        .db('crm')
        .collection<Numbered>('people')
        .updateOne({ _id: 1 }, { $set: { value: 3 } }, { upsert: true });
      await instance.commitWhenOffered();
      const expected = await contentsOf(client, there);
      expect(expected).toHaveProperty(['crm.named', 'documents', 'length'], expect.any(Number));
      expect(await contentsOf(fixture.cluster1.client, (namespace) => namespace), `seed ${testSeed}`).toEqual(expected);
      expect(expected).toHaveProperty(['store.later', 'documents', 'length'], 2);
    },
  );

  it.runIf(isFullRun || settings === readsShards)(
    'the verifier compares a collection with the one that has its other name',
    async () => {
      await load();
      await using instance = await started();
      await instance.untilCanCommit();
      const purchases = fixture.cluster1.client.db('archive').collection<{ _id: number; value: unknown }>('purchases');
      await purchases.updateOne({ _id: 3 }, { $set: { value: 'wrong' } });
      await expect.poll(() => purchases.findOne({ _id: 3 })).toEqual({ _id: 3, value: 3 });
      await instance.commitWhenOffered();
    },
  );

  it.runIf(isFullRun || shape === 'replicaSet')(
    'a collection that comes under a name which another one has there ends the migration by name',
    async () => {
      await load();
      await using instance = await started();
      await instance.untilCanCommit();
      await fixture.cluster0.client.db('store').collection('items').insertOne({ a: 1 });
      await expect
        .poll(async () => (await instance.progressReply()).body)
        .toMatchObject({
          error: 'namespaceRemapInvalid',
          errorDescription: expect.stringContaining('store.items') as string,
        });
      expect(await fixture.cluster1.client.db('store').collection('items').countDocuments()).toBe(documentsMax);
    },
  );
});

describe('namespaceRemap', () => {
  let fixture: Fixture;

  beforeAll(async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    const { client } = fixture.cluster0;
    await client.db('shop').collection('orders').insertOne({ a: 1 });
    await client.db('store').collection('orders').insertOne({ a: 1 });
    await client.db('views').collection('base').insertOne({ a: 1 });
    await client.db('views').createCollection('joining', {
      viewOn: 'other',
      pipeline: [{ $lookup: { from: 'base', localField: 'a', foreignField: 'a', as: 'b' } }],
    });
    await fixture.cluster1.client.db('full').collection('orders').insertOne({ a: 1 });
  });

  afterAll(() => fixture.close());

  const whole = (from: string, to: string) => [{ from: { database: from }, to: { database: to } }];
  const single = (from: [string, string], to: [string, string]) => [
    { from: { database: from[0], collection: from[1] }, to: { database: to[0], collection: to[1] } },
  ];

  it.each<[string, object[], string, RegExp]>([
    ['two namespaces under one name', whole('shop', 'store'), 'namespaceRemapInvalid', /both be store.orders/],
    ['a database of the server', whole('shop', 'config'), 'namespaceRemapInvalid', /config belongs/],
    ["Convoy's metadata", whole('shop', 'convoy_metadata'), 'namespaceRemapInvalid', /convoy_metadata belongs/],
    ['databases that differ in case alone', whole('shop', 'Store'), 'namespaceRemapInvalid', /only in case/],
    [
      'a view that would join nothing',
      single(['views', 'base'], ['views', 'b']),
      'namespaceRemapInvalid',
      /views.joining/,
    ],
    [
      'a view apart from its collection',
      single(['views', 'other'], ['far', 'other']),
      'namespaceRemapInvalid',
      /far.other/,
    ],
    ['a name that is too long', single(['shop', 'orders'], ['shop', 'x'.repeat(251)]), 'namespaceRemapInvalid', /255/],
    ['a name with documents on the destination', whole('shop', 'full'), 'destinationNotEmpty', /full.orders/],
    [
      'a database for a collection',
      [{ from: { database: 'a', collection: 'b' }, to: { database: 'c' } }],
      'invalidRequest',
      /to a collection/,
    ],
    ['a name that no database can have', whole('shop', 'a.b'), 'invalidRequest', /every platform/],
  ])('refuses %s', async (_what, elements, error, says) => {
    await using instance = await fixture.startInstance();
    const { body } = await instance.command('start', startBody({ namespaceRemap: elements }));
    expect(body).toMatchObject({ success: false, error });
    expect(body.errorDescription).toMatch(says);
    expect((await instance.progress()).state).toBe('IDLE');
  });

  it('cannot be reversed', async () => {
    await using instance = await fixture.startInstance();
    const more = { namespaceRemap, reversible: true, enableUserWriteBlocking: true };
    const reply = await instance.command('start', startBody(more));
    expect(reply.body).toMatchObject({ success: false, error: 'namespaceRemapWithReversible' });
  });
});
