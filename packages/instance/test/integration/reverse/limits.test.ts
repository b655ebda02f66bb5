import { compareClusters } from '@convoy/cli/demo/compare';
import type { Db } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { readsShards, Fixture, type Shape } from '../contract/fixture.js';
import { blockingReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { withoutLastShard } from '../lifecycle/last-shard.js';

const reversible = startBody({ enableUserWriteBlocking: true, reversible: true });

const full = process.env.CONVOY_TEST_FULL === '1';
/** How the current cluster is read; with CONVOY_TEST_FULL=1 in every way. */
const ways: [string, Shape, object][] = [
  ['a replica set', 'replicaSet', {}],
  ['shards', { shards: 2 }, readsShards],
  ['a router', { shards: 2 }, { sourceAccess: 'router' }],
];

let fixture: Fixture;

afterEach(() => fixture.close());

interface Order {
  _id: number;
  text?: string;
}

describe('a reverse', () => {
  it('reverses from a replica set back to a replica set', async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet', blockingReleases);
    await fixture.cluster0.client
      .db('shop')
      .collection<Order>('orders')
      .insertMany([{ _id: 1 }, { _id: 2 }]);
    await fixture.cluster0.client
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { text: 1 }, unique: true, sparse: true }]);
    await using instance = await fixture.startInstance();
    await instance.migrate(reversible);
    const orders = fixture.cluster1.shopper.db('shop').collection<Order>('orders');
    await orders.insertOne({ _id: 3, text: 'since the commit' });
    await orders.deleteOne({ _id: 1 });
    await instance.accepted('reverse');
    await instance.untilState('RUNNING');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect(await compareClusters(fixture.cluster0.client, fixture.cluster1.client)).toMatchObject({
      equal: true,
      differences: [],
    });
    expect(await fixture.cluster0.shopper.db('shop').collection<Order>('orders').distinct('_id')).toEqual([2, 3]);
    await expect(orders.insertOne({ _id: 4 })).rejects.toMatchObject({ code: 371 });
  });

  it('is refused once a shard has joined the former source', async () => {
    fixture = await Fixture.open({ shards: 2 }, { shards: 1 }, blockingReleases);
    const addShard = await withoutLastShard(fixture.cluster0);
    await fixture.cluster0.client.db('shop').collection<Order>('orders').insertOne({ _id: 1 });
    await using instance = await fixture.startInstance();
    await instance.migrate(reversible);
    await addShard();
    const { status, body } = await instance.command('reverse');
    expect({ status, error: body.error as unknown }).toEqual({ status: 422, error: 'reversibleNeedsEqualShardCounts' });
    expect((await instance.progress()).state).toBe('COMMITTED');
  });

  it.each(ways.slice(0, full ? undefined : 1))(
    'is refused once the oplog of the current cluster, read from %s, no longer reaches back to the commit',
    async (_, shape, settings) => {
      fixture = await Fixture.open(shape, shape, { ...blockingReleases, oplogBytes1: 200_000 });
      await fixture.cluster0.client.db('shop').collection<Order>('orders').insertOne({ _id: 1 });
      await using instance = await fixture.startInstance(settings);
      await instance.migrate(reversible);
      const shop = fixture.cluster1.shopper.db('shop');
      // One database on each shard, so that every oplog advances.
      const databases =
        shape === 'replicaSet'
          ? [shop]
          : await Promise.all(['shard0', 'shard1'].map((primaryShard) => databaseOn(primaryShard)));
      for (let _id = 0; _id < 200; _id += 1)
        for (const database of databases)
          await database.collection<Order>('filling').insertOne({ _id, text: 'x'.repeat(5_000) });
      const { status, body } = await instance.command('reverse');
      expect({ status, error: body.error as unknown }).toEqual({ status: 422, error: 'reverseHistoryLost' });
      expect(body.errorDescription).toMatch(/^What was written since the commit is no longer known\. /);
      expect(await instance.progress()).toMatchObject({ state: 'COMMITTED', canWrite: true });
      await shop.collection<Order>('orders').insertOne({ _id: 2 });
    },
  );
});

async function databaseOn(primaryShard: string): Promise<Db> {
  const name = `filled-${primaryShard}`;
  await fixture.cluster1.client.db('admin').command({ enableSharding: name, primaryShard });
  return fixture.cluster1.shopper.db(name);
}
