import { moveQuickly } from '@convoy/testbed/cluster/move-quickly';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { endsEqual } from './ends-equal.js';
import { sampled } from '../../../../../test/seed.js';

const shape = { shards: 2 } as const;
const documents = 200;

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open(shape, shape, { cluster0: '8.0', cluster1: '8.0' });
  await moveQuickly(fixture.cluster0);
});
afterAll(() => fixture.close());

async function fill(): Promise<void> {
  await fixture.clear();
  const { client } = fixture.cluster0;
  await client.db('admin').command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  for (const name of ['orders', 'whole']) {
    await client
      .db('shop')
      .collection<{ _id: number; n: number }>(name)
      .insertMany(Array.from({ length: documents }, (_, _id) => ({ _id, n: 0 })));
  }
}

it.each(sampled(['direct', 'router'] as const))(
  'a collection that servers move is followed to its new shard, there and back; access %s',
  async (sourceAccess) => {
    await fill();
    const shop = fixture.cluster0.client.db('shop');
    const admin = fixture.cluster0.client.db('admin');
    const whole = shop.collection<{ _id: number; n: number }>('whole');
    await using instance = await fixture.startInstance({ sourceAccess });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await whole.updateMany({ _id: { $lt: 20 } }, { $inc: { n: 1 } });
    await admin.command({ moveCollection: 'shop.whole', toShard: 'shard1' });
    await whole.updateMany({ _id: { $gte: 10, $lt: 30 } }, { $inc: { n: 1 } });
    await whole.deleteOne({ _id: 5 });
    await instance.untilCanCommit();
    await admin.command({ moveCollection: 'shop.whole', toShard: 'shard0' });
    await whole.insertOne({ _id: documents, n: 7 });
    await endsEqual(fixture, instance);
  },
);

it('a collection that is unsharded ends the migration by name', async () => {
  await fill();
  await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await fixture.cluster0.client.db('admin').command({ unshardCollection: 'shop.orders', toShard: 'shard1' });
  await expect
    .poll(async () => (await instance.progressReply()).body)
    .toMatchObject({ error: 'shardKeyChanged', errorDescription: expect.stringMatching(/shop\.orders/) as unknown });
});
