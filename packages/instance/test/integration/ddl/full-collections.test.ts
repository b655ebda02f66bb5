import { type Collection, type Db } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { indexesMax } from '../../../src/catalog/index-spec.js';
import { Fixture } from '../contract/fixture.js';
import { triedReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { dropKeyIndex } from './refused-drop.js';

/** Indexes beside those of `_id` and of a shard key. */
const special = [
  { key: { sk: 1, n: 1 }, name: 'unique', unique: true },
  { key: { k: 1 }, name: 'hidden', hidden: true },
  { key: { at: 1 }, name: 'expiring', expireAfterSeconds: 10 ** 9 },
];

/** A collection with as many indexes as servers allow. */
async function makeFull(isSharded: boolean, { cluster0: { client } }: Fixture): Promise<Collection> {
  const shop: Db = client.db('shop');
  const full = shop.collection('full');
  if (isSharded) {
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop' });
    await admin.command({ shardCollection: 'shop.full', key: { sk: 1 } });
  }
  await full.insertMany(Array.from({ length: 100 }, (_, n) => ({ n, sk: n % 2, k: n % 7, at: new Date() })));
  await full.createIndexes(special);
  const room = indexesMax - (await full.indexes()).length;
  await full.createIndexes(Array.from({ length: room }, (_, n) => ({ key: { [`f${n}`]: 1 }, name: `f${n}` })));
  expect(await full.indexes()).toHaveLength(indexesMax);
  return full;
}

describe.each(triedReleases)('%s', (_name, releases) => {
  it.each([
    ['unsharded', false],
    ['sharded', true],
  ])('a collection with as many indexes as it can have gets all attributes at the commit: %s', async (_, isSharded) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, releases);
    const full = await makeFull(isSharded, fixture);
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await full.dropIndex('unique');
    await full.createIndexes([{ key: { sk: 1, n: 1, k: 1 }, name: 'unique', unique: true }]);
    await full.dropIndex('expiring');
    await full.createIndexes([{ key: { when: 1 }, name: 'expiring', expireAfterSeconds: 10 ** 8 }]);
    await full.dropIndex('f0');
    await full.createIndexes([{ key: { f0: -1 }, name: 'f0' }]);
    await full.dropIndex('f1');
    await full.createIndexes([{ key: { another: 1 }, name: 'another' }]);
    await instance.commitWhenOffered();
    await expectEqualDatabases(fixture, 'shop');
  });
});

/** Replaces the only index of the shard key; where servers keep that, another one supports the key meanwhile. */
async function replaceUnique(full: Collection): Promise<void> {
  const isDropped = await dropKeyIndex(full, 'unique');
  if (!isDropped) {
    await full.dropIndex('f0');
    await full.createIndexes([{ key: { sk: 1, meanwhile: 1 }, name: 'meanwhile' }]);
    await full.dropIndex('unique');
  }
  await full.createIndexes([{ key: { sk: 1, n: -1 }, name: 'unique', unique: true }]);
  if (isDropped) return;
  await full.dropIndex('meanwhile');
  await full.createIndexes([{ key: { f0: 1 }, name: 'f0' }]);
}

it.each([
  ['5.0', '5.0'],
  ['5.0', '8.0'],
  ['8.0', '8.0'],
] as const)('the only index of a shard key is replaced in a collection without room: %s to %s', async (from, to) => {
  await using own = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: from, cluster1: to });
  const full = await makeFull(true, own);
  await full.dropIndex('sk_1');
  await full.createIndexes([{ key: { last: 1 }, name: 'last' }]);
  await using instance = await own.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await replaceUnique(full);
  await instance.commitWhenOffered();
  await expectEqualDatabases(own, 'shop');
});
