import { expect, it } from 'vitest';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { checkNames } from './convoy-check.js';
import { Fixture, type Side } from './fixture.js';
import { refuses, startBody } from './start-conditions.js';

/** Begins to remove the last shard of a cluster, whose chunks stay where they are. @returns its id */
async function removeLastShard({ client }: Side): Promise<string> {
  const admin = client.db('admin');
  const { shards } = await admin.command({ listShards: 1 });
  const leaving = (shards as { _id: string }[]).at(-1)?._id ?? '';
  await admin.command({ balancerStop: 1 });
  expect(await admin.command({ removeShard: leaving })).toMatchObject({ state: 'started' });
  return leaving;
}

it('a shard of the destination that begins to drain while changes are applied ends nothing', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  const { client } = fixture.cluster0;
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  const orders = client.db('shop').collection<{ _id: number; n: number }>('orders');
  await orders.insertMany(Array.from({ length: 400 }, (_, _id) => ({ _id, n: _id })));
  await using instance = await fixture.startInstance({ sourceAccess: 'router' });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await removeLastShard(fixture.cluster1);
  await orders.updateMany({ _id: { $lt: 100 } }, { $inc: { n: 1_000 } });
  await orders.deleteMany({ _id: { $gt: 350 } });
  await orders.createIndex({ n: 1 }, {}, {});
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});

it('a start and a check name a shard of the destination that is being removed, and change nothing', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const leaving = await removeLastShard(fixture.cluster1);
  const refusal = { error: 'shardDraining', says: new RegExp(`draining: ${leaving}\\. Run removeShard`) } as const;
  await checkNames(fixture, refusal);
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody(), { status: 422, ...refusal });
});
