import type { Document } from 'mongodb';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Fixture, type Side } from '../contract/fixture.js';
import { anyReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, anyReleases);
});

afterAll(() => fixture.close());
afterEach(() => fixture.clear());

const compressed = { wiredTiger: { configString: 'block_compressor=zlib' } };

async function optionsOf({ client }: Side, name: string): Promise<Document | undefined> {
  const [found] = await client.db('shop').listCollections({ name }, { nameOnly: false }).toArray();
  return found?.options;
}

it('storage options of collections and of their indexes are kept where the destination takes them', async () => {
  const shop = fixture.cluster0.client.db('shop');
  await shop.createCollection('orders', { storageEngine: compressed });
  await shop.createCollection('items', { indexOptionDefaults: { storageEngine: compressed } });
  await fixture.cluster0.client.db('admin').command({ enableSharding: 'shop' });
  await fixture.cluster0.client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await shop.collection('orders').insertMany(Array.from({ length: 50 }, (_, n) => ({ n })));
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  const { warnings } = await instance.untilCanCommit();
  expect((warnings ?? []).map(({ name }) => name)).not.toContain('collectionOptionDropped');
  await shop.createCollection('late', { storageEngine: compressed });
  await shop.collection('late').insertOne({ n: 1 });
  await instance.commitWhenOffered();
  for (const name of ['orders', 'items', 'late'])
    expect(await optionsOf(fixture.cluster1, name), name).toEqual(await optionsOf(fixture.cluster0, name));
});
