import { configShardId } from '@convoy/testbed/cluster/access-control';
import type { MigrationSide } from '@convoy/testbed/cluster/servers-of';
import { expect, it } from 'vitest';
import { Fixture, Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { endsEqual } from './ends-equal.js';
import { sampled } from '../../../../../test/seed.js';

const shape = { shards: 2 } as const;
const documents = 400;
/** Idle simulated shards write often, so that streams need not wait. */
const noopInterval_ms = 100;

const directions = [
  ['from a cluster whose config server is a shard', true, false],
  ['to one', false, true],
] as const;

it.each(sampled(directions))(
  'a migration %s moves the data of its shards, including the config server, and no internal data',
  async (_, source, destination) => {
    const open = (side: MigrationSide, configShard: boolean): Promise<Side> =>
      Side.open({ side, topology: shape, release: '8.0', configShard, noopInterval_ms });
    await using fixture = new Fixture(await open('source', source), await open('destination', destination));
    const { cluster0, cluster1 } = fixture;
    const [shop, admin] = [cluster0.client.db('shop'), cluster0.client.db('admin')];
    await admin.command({ enableSharding: 'whole', primaryShard: source ? configShardId : 'shard1' });
    await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
    const orders = shop.collection<{ _id: number; n: number }>('orders');
    await orders.insertMany(Array.from({ length: documents }, (__, _id) => ({ _id, n: 0 })));
    await cluster0.client
      .db('whole')
      .collection('items')
      .insertMany([{ n: 1 }, { n: 2 }]);
    const stored = cluster1.client.db('config').collection<{ _id: string }>('settings');
    const settings = await stored.find().toArray();
    await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await orders.updateMany({ _id: { $lt: 100 } }, { $inc: { n: 1 } });
    await orders.deleteMany({ _id: { $gte: 350 } });
    await shop.createCollection('late', { validator: { n: { $gte: 0 } } });
    await endsEqual(fixture, instance, ['shop', 'whole']);
    expect((await cluster1.databases()).sort()).toEqual(['convoy_metadata', 'shop', 'whole']);
    // With the balancer, servers of 8.0 switch the AutoMerger, which is on by default.
    expect(await stored.find({ _id: { $nin: ['balancer', 'automerge'] } }).toArray()).toEqual(
      settings.filter(({ _id }) => _id !== 'balancer'),
    );
    expect(await stored.countDocuments({ _id: 'automerge', enabled: false })).toBe(0);
  },
);
