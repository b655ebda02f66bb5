import type { Collection, Document, IndexDescription } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { atStep } from '../at-step.js';
import { dropKeyIndex } from '../ddl/refused-drop.js';
import { Fixture, type Side } from './fixture.js';
import { startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const indexes: IndexDescription[] = [
  { key: { name: 1 }, unique: true },
  { key: { at: 1 }, expireAfterSeconds: 100_000 },
  { key: { name: 1, region: -1 }, hidden: true },
  { key: { region: 1 }, sparse: true },
];

const rows = Array.from({ length: 50 }, (_, n) => ({ n, name: `name ${n}`, region: n % 5 }));

/** Specifications of the indexes of a collection, by name. */
async function indexesOf(side: Side, name: string): Promise<Document[]> {
  const found: Document[] = await side.client.db('shop').collection(name).indexes();
  return found.sort((a, b) => String(a.name).localeCompare(String(b.name)));
}

/** The names of the indexes, and then the number of documents. */
async function indexesAndCount(collection: Collection): Promise<{ names: string[]; count: number }> {
  const found: Document[] = await collection.indexes().catch(() => []);
  return { names: found.map(({ name }) => String(name)), count: await collection.countDocuments() };
}

async function shard(name: string, key: Document): Promise<void> {
  const admin = fixture.cluster0.client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await admin.command({ shardCollection: `shop.${name}`, key });
}

describe('buildIndexes', () => {
  it('beforeDataCopy builds the indexes of the source, in their final form after commit', async () => {
    const shop = fixture.cluster0.client.db('shop');
    await shop.collection('orders').insertMany(rows.map((row) => ({ ...row })));
    await shop.collection('orders').createIndexes(indexes);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody({ buildIndexes: 'beforeDataCopy' }));
    await instance.untilCanCommit();
    const during = await indexesOf(fixture.cluster1, 'orders');
    expect(during).toHaveLength(indexes.length + 1);
    expect(during.every(({ expireAfterSeconds }) => expireAfterSeconds !== 100_000)).toBe(true);
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect(await indexesOf(fixture.cluster1, 'orders')).toEqual(await indexesOf(fixture.cluster0, 'orders'));
  });

  it.each(['afterDataCopy', 'excludeHashedAfterCopy'] as const)(
    '%s builds indexes when everything is copied, and offers a commit when they are built',
    async (buildIndexes) => {
      const orders = fixture.cluster0.client.db('shop').collection('orders');
      await shard('orders', { name: 'hashed' });
      await orders.insertMany(Array.from({ length: 2_000 }, (_, n) => ({ n, name: `name ${n}`, region: n % 5 })));
      await orders.createIndexes([...indexes.slice(1), { key: { region: 'hashed' } }]);
      await using instance = await fixture.startInstance();
      await instance.accepted('start', startBody({ buildIndexes }));
      await orders.createIndexes([{ key: { n: 1 }, name: 'built during the copy' }]);
      const copy = fixture.cluster1.client.db('shop').collection('orders');
      const early: unknown[] = [];
      await instance.until('it can be committed', ({ canCommit }) => {
        const seen = indexesAndCount(copy);
        seen.catch(() => undefined);
        early.push(seen);
        return canCommit;
      });
      for (const { names, count } of (await Promise.all(early)) as { names: string[]; count: number }[])
        if (names.length > 2) expect(count).toBe(2_000);
      const wanted = (await indexesOf(fixture.cluster0, 'orders')).map(({ name }) => String(name));
      const expected = wanted.filter((name) => buildIndexes === 'afterDataCopy' || name !== 'region_hashed');
      expect((await indexesAndCount(copy)).names.sort()).toEqual(expected.sort());
      await instance.accepted('commit');
      await instance.untilState('COMMITTED');
      const left = (await indexesOf(fixture.cluster0, 'orders')).filter(({ name }) => expected.includes(String(name)));
      expect(await indexesOf(fixture.cluster1, 'orders')).toEqual(left);
    },
  );

  it('afterDataCopy continues after a restart in the middle of the index builds', async () => {
    const orders = fixture.cluster0.client.db('shop').collection('orders');
    await orders.insertMany(rows.map((row) => ({ ...row })));
    await orders.createIndexes(indexes);
    const first = await fixture.startInstance();
    const stepSeen = atStep('indexBuildsStarted', () => undefined);
    await first.accepted('start', startBody({ buildIndexes: 'afterDataCopy' }));
    await stepSeen;
    await first.close();
    await using second = await fixture.startInstance();
    await second.untilCanCommit();
    expect(await indexesOf(fixture.cluster1, 'orders')).toHaveLength(indexes.length + 1);
    await second.accepted('commit');
    await second.untilState('COMMITTED');
    expect(await indexesOf(fixture.cluster1, 'orders')).toEqual(await indexesOf(fixture.cluster0, 'orders'));
  });

  it('excludeHashed builds all but hashed indexes; a hashed shard key has its own', async () => {
    const orders = fixture.cluster0.client.db('shop').collection('orders');
    await shard('orders', { name: 'hashed' });
    await orders.insertMany(rows.map((row) => ({ ...row })));
    await orders.createIndexes([{ key: { region: 'hashed' } }, { key: { region: 1, n: 'hashed' } }, { key: { n: 1 } }]);
    await using instance = await fixture.startInstance();
    await instance.migrate(startBody({ buildIndexes: 'excludeHashed' }));
    const names = (await indexesOf(fixture.cluster1, 'orders')).map(({ name }) => String(name));
    expect(names).toEqual(['_id_', 'n_1', 'name_hashed']);
  });

  it('never builds only the _id index and, for a shard key without index, a lasting placeholder', async () => {
    const shop = fixture.cluster0.client.db('shop');
    await shop.collection('plain').insertMany(rows.map((row) => ({ ...row })));
    await shop.collection('plain').createIndexes(indexes);
    await shard('ranged', { region: 1 });
    await shop.collection('ranged').insertMany(rows.map((row) => ({ ...row })));
    await shop.collection('ranged').createIndexes([
      { key: { region: 1, name: 1 }, name: 'support' },
      { key: { at: 1 }, expireAfterSeconds: 100_000 },
    ]);
    await shop.collection('ranged').dropIndex('region_1');
    await shard('unsupported', { region: 1 });
    // From 6.0 on it stays.
    await dropKeyIndex(shop.collection('unsupported'), 'region_1');
    await shop.collection('unsupported').insertMany(rows.map((row) => ({ ...row })));
    await shard('hashed', { name: 'hashed' });
    await shop.collection('hashed').insertMany(rows.map((row) => ({ ...row })));
    await using instance = await fixture.startInstance();
    await instance.migrate(startBody({ buildIndexes: 'never', verification: { enabled: false } }));
    const keys = async (name: string): Promise<Document[]> =>
      (await indexesOf(fixture.cluster1, name)).map(({ key }) => key as Document);
    expect(await keys('plain')).toEqual([{ _id: 1 }]);
    expect(await keys('hashed')).toEqual([{ _id: 1 }, { name: 'hashed' }]);
    expect(await keys('unsupported')).toEqual([{ _id: 1 }, { region: 1 }]);
    expect(await keys('ranged')).toEqual([{ _id: 1 }, { region: 1, name: 1 }]);
    expect(await fixture.cluster1.client.db('shop').collection('ranged').countDocuments()).toBe(rows.length);
  });

  it('never takes over a TTL collection without its TTL while the verifier is off', async () => {
    const shop = fixture.cluster0.client.db('shop');
    await shop.collection('sessions').insertOne({ at: new Date() });
    await shop.collection('sessions').createIndexes([{ key: { at: 1 }, expireAfterSeconds: 100_000 }]);
    await using instance = await fixture.startInstance();
    await instance.migrate(startBody({ buildIndexes: 'never', verification: { enabled: false } }));
    expect((await indexesOf(fixture.cluster1, 'sessions')).map(({ name }) => name as string)).toEqual(['_id_']);
    expect(await fixture.cluster1.client.db('shop').collection('sessions').countDocuments()).toBe(1);
  });

  it.each(['5.0', '6.0'] as const)(
    'beforeDataCopy also builds those that are created on the source during the migration (%s)',
    async (release) => {
      await using own = await Fixture.open('replicaSet', 'replicaSet', { cluster0: release, cluster1: release });
      const orders = own.cluster0.client.db('shop').collection('orders');
      await orders.insertMany(rows.map((row) => ({ ...row })));
      await orders.createIndexes([{ key: { region: 1 }, name: 'dropped' }]);
      await using instance = await own.startInstance();
      await instance.accepted('start', startBody());
      await instance.untilCanCommit();
      await orders.createIndexes(indexes);
      await orders.dropIndex('dropped');
      await instance.accepted('commit');
      await instance.untilState('COMMITTED');
      const [source, destination] = await Promise.all(
        [own.cluster0, own.cluster1].map((side) => indexesOf(side, 'orders')),
      );
      expect(source).toHaveLength(indexes.length + 1);
      expect(destination).toEqual(source);
    },
  );

  it('drops an index that was built by hand on the destination', async () => {
    await fixture.cluster0.client
      .db('shop')
      .collection('orders')
      .insertMany(rows.map((row) => ({ ...row })));
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await fixture.cluster1.client
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { region: 1 }, name: 'by_hand' }]);
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect(await indexesOf(fixture.cluster1, 'orders')).toEqual(await indexesOf(fixture.cluster0, 'orders'));
  });
});
