import { afterEach, beforeEach, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

let fixture: Fixture;

beforeEach(async () => {
  fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '6.0', cluster1: '6.0' });
});

afterEach(() => fixture.close());

it('DDL changes of a replica set: capped collections, renames between databases, $out in place', async () => {
  const { client } = fixture.cluster0;
  const shop = client.db('shop');
  const fill = async (name: string, first: number): Promise<void> => {
    await shop
      .collection<{ _id: number }>(name)
      .insertMany(Array.from({ length: 40 }, (_, index) => ({ _id: first + index, text: 'x'.repeat(50) })));
  };
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await fill(name, 0);
  await shop.createCollection('ring', { capped: true, size: 100_000 });
  await fill('ring', 0);
  await shop.createCollection('ring 2', { capped: true, size: 100_000 });
  await fill('ring 2', 0);
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();

  await shop.command({ convertToCapped: 'a', size: 50_000 });
  await fill('a', 100);
  await client.db('admin').command({ renameCollection: 'shop.b', to: 'other.b' });
  await client.db('admin').command({ renameCollection: 'shop.c', to: 'shop.d', dropTarget: true });
  await shop.collection('ring').rename('ring renamed');
  await fill('ring renamed', 200);
  await shop.collection('ring 2').drop();
  await shop.command({ collMod: 'ring renamed', cappedSize: 200_192 });
  await shop
    .collection('e')
    .aggregate([{ $match: { _id: { $lt: 10 } } }, { $out: 'e' }])
    .toArray();
  await fill('e', 300);
  await shop.collection('f').drop();
  await shop.createCollection('f', { viewOn: 'd', pipeline: [] });
  await shop
    .collection('d')
    .createIndexes([{ key: { text: 1 }, name: 'text_1', expireAfterSeconds: 5_000, hidden: true }]);

  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
  await expectEqualDatabases(fixture, 'other');
});
