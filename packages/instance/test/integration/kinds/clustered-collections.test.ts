import { ObjectId } from 'mongodb';
import { expect, it } from 'vitest';
import { sampled } from '../../../../../test/seed.js';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

const releases = sampled(['6.0', '7.0', '8.0'] as const);
const count = 600;

it.each(releases)('clustered collections, sharded and with a TTL too (%s)', async (release) => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: release, cluster1: release });
  const { client } = fixture.cluster0;
  const shop = client.db('shop');
  const clusteredIndex = { key: { _id: 1 }, unique: true, name: 'by_id' };
  const named = await shop.createCollection<{ _id: unknown; n: number }>('named', { clusteredIndex });
  const aging = await shop.createCollection<{ _id: Date; n: number }>('aging', {
    clusteredIndex,
    expireAfterSeconds: 1_000_000_000,
  });
  const ranged = await shop.createCollection<{ _id: number; n: number }>('ranged', { clusteredIndex });
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.ranged', key: { _id: 1 } });
  await client.db('admin').command({ split: 'shop.ranged', middle: { _id: count / 2 } });
  await named.insertMany(
    Array.from({ length: count }, (_, n) => ({
      _id: [n, `text ${n}`, new ObjectId(n.toString(16).padStart(24, '0')), { n }][n % 4],
      n,
    })),
  );
  await aging.insertMany(Array.from({ length: 100 }, (_, n) => ({ _id: new Date(Date.now() + n), n })));
  await ranged.insertMany(Array.from({ length: count }, (_, _id) => ({ _id, n: _id })));
  await named.createIndexes([{ key: { n: 1 }, unique: true }]);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await named.deleteMany({ n: { $lt: 20 } });
  await instance.untilCanCommit();
  await named.updateMany({ n: { $lt: 60 } }, { $inc: { n: 100_000 } });
  await ranged.updateMany({ n: { $gt: count - 50 } }, { $set: { late: true } });
  await ranged.insertOne({ _id: -1, n: 0 });
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');

  await expectEqualDatabases(fixture, 'shop');
  const [listed] = await fixture.cluster1.client.db('shop').listCollections({ name: 'aging' }).toArray();
  expect(listed).toMatchObject({ options: { clusteredIndex: { name: 'by_id' }, expireAfterSeconds: 1_000_000_000 } });
});
