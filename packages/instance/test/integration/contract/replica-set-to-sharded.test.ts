import type { Document } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import { anyReleases } from './releases.js';
import type { ServedInstance } from './served-instance.js';
import { documentsOf as texts } from '../kinds/equal-databases.js';
import { startBody } from './start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open('replicaSet', { shards: 2 }, anyReleases);
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const count = 300;

async function load(name: string): Promise<void> {
  const text = 'x'.repeat(100);
  await fixture.cluster0.client
    .db('shop')
    .collection(name)
    .insertMany(Array.from({ length: count }, (_, n) => ({ n, customer: n % 100, text })));
}

function entry(collection: string, key: Document[]): Document {
  return { database: 'shop', collection, shardCollection: { key } };
}

/** All documents, as text of their bytes. */
function documentsOf(side: 'cluster0' | 'cluster1', name: string): Promise<string[]> {
  return texts(fixture[side].client, 'shop', name, false);
}

/** The shard key of a collection, its fields in order; null if it is not sharded. */
async function shardKeyOf(name: string): Promise<[string, unknown][] | null> {
  const collections = fixture.cluster1.client
    .db('config')
    .collection<{ _id: string; key: Record<string, unknown> }>('collections');
  const found = await collections.findOne({ _id: `shop.${name}` });
  return found === null ? null : Object.entries(found.key);
}

/** Number of documents on each shard that has some. */
async function countsByShard(name: string): Promise<number[]> {
  const stats = await fixture.cluster1.client.db('shop').command({ collStats: name });
  return Object.values(stats.shards as Record<string, { count: number }>)
    .map((shard) => shard.count)
    .filter((documents) => documents > 0);
}

async function indexKeys(name: string): Promise<Document[]> {
  return (await fixture.cluster1.client.db('shop').collection(name).indexes()).map(({ key }) => key);
}

it('shards what is listed, creates missing supporting indexes, and leaves the rest unsharded', async () => {
  for (const name of ['hashed', 'ranged', 'supported', 'plain']) await load(name);
  await fixture.cluster0.client
    .db('shop')
    .collection('supported')
    .createIndexes([{ key: { customer: 1, n: 1 }, name: 'own' }]);
  const shardingEntries = [
    entry('hashed', [{ customer: 'hashed' }]),
    entry('ranged', [{ customer: 1 }, { n: 1 }]),
    entry('supported', [{ customer: 1 }]),
  ];
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody({ sharding: { createSupportingIndexes: true, shardingEntries } }));
  await instance.untilCanCommit();
  const ranged = fixture.cluster0.client.db('shop').collection('ranged');
  await ranged.updateOne({ n: 3 }, { $set: { customer: 77 } });
  await ranged.deleteOne({ n: 4 });
  await ranged.insertOne({ n: count, customer: 50 });
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');

  for (const name of ['hashed', 'ranged', 'supported', 'plain']) {
    expect(await documentsOf('cluster1', name)).toEqual(await documentsOf('cluster0', name));
  }
  expect(await shardKeyOf('hashed')).toEqual([['customer', 'hashed']]);
  expect(await shardKeyOf('ranged')).toEqual([
    ['customer', 1],
    ['n', 1],
  ]);
  expect(await shardKeyOf('supported')).toEqual([['customer', 1]]);
  expect(await shardKeyOf('plain')).toBeNull();
  for (const name of ['hashed', 'ranged', 'supported']) expect(await countsByShard(name)).toHaveLength(2);
  expect(await indexKeys('hashed')).toEqual([{ _id: 1 }, { customer: 'hashed' }]);
  expect(await indexKeys('ranged')).toEqual([{ _id: 1 }, { customer: 1, n: 1 }]);
  expect(await indexKeys('supported')).toEqual([{ _id: 1 }, { customer: 1, n: 1 }]);
});

it('keeps a unique index on the shard key that is unique on the source', async () => {
  await load('orders');
  await fixture.cluster0.client
    .db('shop')
    .collection('orders')
    .createIndexes([{ key: { n: 1 }, unique: true }]);
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody({ sharding: { shardingEntries: [entry('orders', [{ n: 1 }])] } }));
  const indexes = await fixture.cluster1.client.db('shop').collection('orders').indexes();
  expect(indexes).toContainEqual(expect.objectContaining({ key: { n: 1 }, unique: true }));
  await expect(fixture.cluster1.client.db('shop').collection('orders').insertOne({ n: 1 })).rejects.toMatchObject({
    code: 11000,
  });
});

it('shards nothing for an empty array of entries', async () => {
  await load('orders');
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody({ sharding: { shardingEntries: [] } }));
  expect(await shardKeyOf('orders')).toBeNull();
  expect(await documentsOf('cluster1', 'orders')).toEqual(await documentsOf('cluster0', 'orders'));
});

describe('a collection that is renamed within its database', () => {
  async function rename(): Promise<void> {
    await fixture.cluster0.client.db('shop').collection('orders').rename('renamed');
  }

  async function committed(instance: ServedInstance): Promise<void> {
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect(await documentsOf('cluster1', 'renamed')).toEqual(await documentsOf('cluster0', 'renamed'));
    expect(await shardKeyOf('orders')).toBeNull();
  }

  const body = startBody({
    sharding: { createSupportingIndexes: true, shardingEntries: [entry('orders', [{ customer: 1 }])] },
  });

  it('before the copy begins may end up unsharded, which is a warning then', async () => {
    await load('orders');
    await using instance = await fixture.startInstance();
    await instance.accepted('start', body);
    expect((await instance.progress()).collectionCopy?.estimatedCopiedBytes).toBe(0);
    await rename();
    await committed(instance);
    const isSharded = (await shardKeyOf('renamed')) !== null;
    const warns = (await instance.progress()).warnings?.some(({ name }) => name === 'shardingEntryAbsent');
    expect(warns).toBe(!isSharded);
  });

  it('is sharded as was asked for once estimatedCopiedBytes is above 0, also after a crash', async () => {
    await load('orders');
    {
      await using instance = await fixture.startInstance();
      await instance.accepted('start', body);
      await instance.until(
        'something is copied',
        ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 0,
      );
    }
    await using instance = await fixture.startInstance();
    await rename();
    await committed(instance);
    expect(await shardKeyOf('renamed')).toEqual([['customer', 1]]);
  });
});

it('fails when a collection is renamed into another database', async () => {
  await load('orders');
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody({ sharding: { shardingEntries: [] } }));
  await instance.untilCanCommit();
  await fixture.cluster0.client.db('admin').command({ renameCollection: 'shop.orders', to: 'archive.orders' });
  await expect.poll(async () => (await instance.progressReply()).status).toBe(409);
  expect((await instance.progressReply()).body).toMatchObject({
    error: 'renameAcrossDatabases',
    errorDescription: expect.stringContaining('archive.orders') as unknown,
  });
});
