import { compareClusters } from '@convoy/cli/demo/compare';
import fc from 'fast-check';
import type { Collection, Db } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Fixture, readsShards } from './fixture.js';
import { anyReleases } from './releases.js';
import type { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';
import { sampled, testSeed } from '../../../../../test/seed.js';

interface Order {
  _id: number | string;
  region: number;
  total?: number;
}

const ordersMax = 200;
const regions = 10;

const change = fc.record({
  id: fc.nat({ max: ordersMax + 50 }),
  kind: fc.constantFrom('insert', 'set', 'move', 'replace', 'delete'),
  region: fc.nat({ max: regions - 1 }),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

/** Whatever the server refuses stays undone: for example a second document with the key of another. */
async function apply(orders: Collection<Order>, { id: _id, kind, region }: Change): Promise<void> {
  const present = await orders.findOne({ _id });
  if (kind === 'insert' && present === null) await orders.insertOne({ _id, region }).catch(() => undefined);
  if (present === null) return;
  const found = { _id, region: present.region };
  if (kind === 'set') await orders.updateOne(found, { $inc: { total: 1 } });
  else if (kind === 'move') await orders.updateOne(found, { $set: { region } }).catch(() => undefined);
  else if (kind === 'replace') await orders.replaceOne(found, { region, total: 0 }).catch(() => undefined);
  else if (kind === 'delete') await orders.deleteOne(found);
}

const accesses: [string, boolean, object][] = [
  ['the router', false, {}],
  ['its shards', true, readsShards],
];

describe.each(sampled(accesses))(
  'a sharded cluster that is read from %s moves into a replica set',
  (_what, withUsers, settings) => {
    let fixture: Fixture;
    let shop: Db;

    beforeAll(async () => {
      fixture = await Fixture.open({ shards: 2 }, 'replicaSet', { ...anyReleases, withUsers });
      shop = fixture.cluster0.client.db('shop');
    });

    afterAll(() => fixture.close());
    afterEach(() => fixture.clear());

    /** Gives the database its primary, which servers choose by size where nobody does. */
    async function prepare(): Promise<{ admin: Db; other: string | undefined }> {
      const admin = fixture.cluster0.client.db('admin');
      const [first, second] = (await admin.command({ listShards: 1 }))['shards'] as { _id: string }[];
      await admin.command({ enableSharding: 'shop', primaryShard: first?._id });
      return { admin, other: second?._id };
    }

    /** Shards a collection by region, one half of the regions on each shard. */
    async function shard(name: string, more: object = {}): Promise<void> {
      const { admin, other } = await prepare();
      const key = { region: 1 };
      await admin.command({ shardCollection: `shop.${name}`, key, ...more });
      await admin.command({ split: `shop.${name}`, middle: { region: regions / 2 } });
      const find = { region: regions };
      await admin.command({ moveChunk: `shop.${name}`, find, to: other, _waitForDelete: true });
    }

    async function load(): Promise<Collection<Order>> {
      await prepare();
      await shop.createCollection('names', { collation: { locale: 'en', strength: 2 } });
      await shop.collection('names').createIndexes([{ key: { region: 1 }, collation: { locale: 'simple' } }]);
      for (const name of ['orders', 'names']) await shard(name, { collation: { locale: 'simple' } });
      await shard('unique', { unique: true });
      await shop.collection('unique').insertMany(Array.from({ length: regions }, (_, region) => ({ region })));
      await shop
        .collection<{ _id: string; region: number }>('names')
        .insertMany(Array.from({ length: 40 }, (_, n) => ({ _id: `name ${n}`, region: n % regions })));
      await shop.collection('log').insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
      const orders = shop.collection<Order>('orders');
      await orders.createIndexes([{ key: { total: 1 }, expireAfterSeconds: 100_000 }]);
      await orders.insertMany(
        Array.from({ length: ordersMax }, (_, _id) => ({ _id, region: _id % regions, total: 0 })),
      );
      return orders;
    }

    async function failure(instance: ServedInstance, error: string): Promise<string> {
      const reply = async () => (await instance.progressReply()).body as { error?: string; errorDescription?: string };
      await expect.poll(async () => (await reply()).error).toBe(error);
      return (await reply()).errorDescription ?? '';
    }

    it('with every document and index and no shard key, while documents move and a collection is sharded', async () => {
      const orders = await load();
      const changes = fc.sample(change, { seed: testSeed, numRuns: 120 });
      await using instance = await fixture.startInstance(settings);
      await instance.accepted('start', startBody());
      for (const one of changes.slice(0, 60)) await apply(orders, one);
      await instance.untilCanCommit();
      await shop.collection('log').createIndexes([{ key: { _id: 'hashed' } }]);
      await fixture.cluster0.client.db('admin').command({ shardCollection: 'shop.log', key: { _id: 'hashed' } });
      for (const one of changes.slice(60)) await apply(orders, one);
      await shop.collection('log').insertMany(Array.from({ length: 50 }, (_, n) => ({ n: -n })));
      await instance.commitWhenOffered();
      await instance.untilState('COMMITTED');
      const comparison = await compareClusters(fixture.cluster0.client, fixture.cluster1.client);
      expect(comparison, `seed ${testSeed}`).toMatchObject({ equal: true, differences: [], collections: 4 });
    });

    it.each([
      ['copied', true],
      ['written later', false],
    ])(
      'two documents with one _id on two shards, %s, end it by name, and neither is lost before',
      async (_when, first) => {
        await shard('orders');
        const orders = shop.collection<Order>('orders');
        await orders.insertOne({ _id: 'twice', region: 1 });
        if (first) await orders.insertOne({ _id: 'twice', region: regions });
        await using instance = await fixture.startInstance(settings);
        await instance.accepted('start', startBody());
        if (!first) {
          await instance.untilCanCommit();
          await orders.insertOne({ _id: 'twice', region: regions });
        }
        expect(await failure(instance, 'duplicateIdAcrossShards')).toMatch(/shop\.orders/);
        expect(await orders.countDocuments({ _id: 'twice' })).toBe(2);
      },
    );

    it('a chunk that moves ends it by name', async () => {
      await shard('orders');
      const { shards } = await fixture.cluster0.client.db('admin').command({ listShards: 1 });
      await using instance = await fixture.startInstance({ ...settings, catalogInterval_seconds: 1 });
      await instance.accepted('start', startBody());
      await instance.untilCanCommit();
      const to = (shards as { _id: string }[])[0]?._id;
      await fixture.cluster0.client.db('admin').command({ moveChunk: 'shop.orders', find: { region: regions }, to });
      expect(await failure(instance, 'chunkMigrationSeen')).toMatch(/shop\.orders/);
    });
  },
);
