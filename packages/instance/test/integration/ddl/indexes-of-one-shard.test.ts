import { type Db, type Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { atStep } from '../at-step.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

describe.each(['5.0', '8.0'] as const)('%s', (release) => {
  let fixture: Fixture;
  /** Clients of the destination's shards themselves. */
  let shards: MongoClient[];
  /** The second of them. */
  let second: Db;

  beforeAll(async () => {
    fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
    const listed = await fixture.cluster1.client.db('admin').command({ listShards: 1 });
    shards = await Promise.all(
      (listed['shards'] as { host: string }[]).map(({ host }) =>
        MongoClient.connect(`mongodb://${host.split('/').at(-1) ?? ''}/?directConnection=true`),
      ),
    );
    second = shards.map((shard) => shard.db('shop')).at(-1) as Db;
  });

  afterAll(async () => {
    for (const shard of shards) await shard.close();
    await fixture.close();
  });

  beforeEach(async () => {
    await fixture.clear();
    const { client } = fixture.cluster0;
    await client.db('admin').command({ enableSharding: 'shop' });
    await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
    const orders = client.db('shop').collection('orders');
    await orders.insertMany(Array.from({ length: 50 }, (_, n) => ({ n, at: new Date(), region: n % 5 })));
    await orders.createIndexes([
      { key: { region: 1 }, name: 'region_1' },
      { key: { at: 1 }, name: 'at_1', expireAfterSeconds: 10 ** 9 },
    ]);
  });

  /** Names of the indexes of each shard of the destination. */
  function indexesByShard(): Promise<string[][]> {
    return Promise.all(
      shards.map(async (shard) => {
        const found: Document[] = await shard.db('shop').collection('orders').indexes();
        return found.map(({ name }) => name as string).sort();
      }),
    );
  }

  const complete = ['_id_', '_id_hashed', 'at_1', 'region_1'];

  it('an index that one shard of the destination has lost is built there again', async () => {
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    for (const name of ['region_1', 'at_1']) await second.collection('orders').dropIndex(name);
    await expect.poll(indexesByShard).toEqual([complete, complete]);
    await instance.commitWhenOffered();
    expect(await indexesByShard()).toEqual([complete, complete]);
    await expectEqualDatabases(fixture, 'shop');
  });

  it('an index that one shard of the destination has alone is dropped', async () => {
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await second.collection('orders').createIndexes([{ key: { n: 1 }, name: 'by hand' }]);
    await expect.poll(indexesByShard).toEqual([complete, complete]);
    await instance.commitWhenOffered();
    expect(await indexesByShard()).toEqual([complete, complete]);
  });

  it('a unique index is restored at the commit although one shard has lost the plain one', async () => {
    const admin = fixture.cluster0.client.db('admin');
    await admin.command({ shardCollection: 'shop.users', key: { n: 1 } });
    await admin.command({ split: 'shop.users', middle: { n: 25 } });
    const owner = await fixture.cluster0.client
      .db('config')
      .collection<{ _id: string; primary: string }>('databases')
      .findOne({ _id: 'shop' });
    const { shards: ids } = await admin.command({ listShards: 1 });
    const other = (ids as { _id: string }[]).find(({ _id }) => _id !== owner?.primary);
    await admin.command({ moveChunk: 'shop.users', find: { n: 25 }, to: other?._id, _waitForDelete: true });
    const users = fixture.cluster0.client.db('shop').collection('users');
    await users.insertMany(Array.from({ length: 50 }, (_, n) => ({ n, name: `user ${n}` })));
    await users.createIndexes([{ key: { n: 1, name: 1 }, name: 'names', unique: true }]);
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const lost = atStep('commitSealed', async () => {
      const copies = second.collection('users');
      const plain = (await copies.indexes()).find(({ name }) => name?.includes('names'));
      await copies.dropIndex(plain?.name ?? 'none');
    });
    await instance.commitWhenOffered();
    await lost;
    for (const shard of shards)
      expect(await shard.db('shop').collection('users').indexes()).toContainEqual(
        expect.objectContaining({ name: 'names', unique: true }),
      );
    await expectEqualDatabases(fixture, 'shop');
  });
});
