import { type Document, MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

let fixture: Fixture;
/** Clients of the destination's shards themselves. */
let shards: MongoClient[];

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const listed = await fixture.cluster1.client.db('admin').command({ listShards: 1 });
  shards = await Promise.all(
    (listed['shards'] as { host: string }[]).map(({ host }) =>
      MongoClient.connect(`mongodb://${host.split('/').at(-1) ?? ''}/?directConnection=true`),
    ),
  );
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
  for (const name of ['region_1', 'at_1']) await shards[1]!.db('shop').collection('orders').dropIndex(name);
  await expect.poll(indexesByShard).toEqual([complete, complete]);
  await instance.commitWhenOffered();
  expect(await indexesByShard()).toEqual([complete, complete]);
  await expectEqualDatabases(fixture, 'shop');
});

it('an index that one shard of the destination has alone is dropped', async () => {
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await shards[1]!.db('shop').collection('orders').createIndex({ n: 1 }, { name: 'by hand' });
  await expect.poll(indexesByShard).toEqual([complete, complete]);
  await instance.commitWhenOffered();
  expect(await indexesByShard()).toEqual([complete, complete]);
});
