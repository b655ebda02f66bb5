import { expect, it } from 'vitest';
import { Fixture } from './fixture.js';
import { refuses, startBody } from './start-conditions.js';

it('a start is refused while a shard of the destination is being removed, and changes nothing', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const admin = fixture.cluster1.client.db('admin');
  const { shards } = await admin.command({ listShards: 1 });
  const leaving = (shards as { _id: string }[]).at(-1)?._id;
  // Its chunks stay where they are.
  await admin.command({ balancerStop: 1 });
  expect(await admin.command({ removeShard: leaving })).toMatchObject({ state: 'started' });
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, startBody(), {
    status: 422,
    error: 'shardDraining',
    says: new RegExp(`draining: ${leaving}\\. Run removeShard`),
  });
});
