import { expect, test } from 'vitest';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { Clusters, defaultStart, untilCanCommit, untilCommitted, untilTaken } from '../fleet.js';
import { needs } from '../requirements.js';
import { Workload } from '../workload.js';
import { countOn, lacksShape, orders, real80, twoShards } from './real-shapes.js';

/** A database whose primary shard is the config server. */
async function loadWhole({ clients, source }: Clusters): Promise<void> {
  const admin = clients.source.db('admin');
  await admin.command({ enableSharding: 'whole', primaryShard: source.shardIds.at(-1) });
  await clients.source
    .db('whole')
    .collection('items')
    .insertMany(Array.from({ length: 100 }, (_, n) => ({ n })));
}

test.for([
  ['source', 'direct'],
  ['source', 'router'],
  ['destination', 'direct'],
] as const)(
  'a fleet migrates under load where the config server of the %s is a shard; access %s (real servers from 8.0)',
  async ([side, sourceAccess], { skip }) => {
    skip(lacksShape(side));
    await using clusters = await Clusters.loaded({ ...twoShards, configShards: [side] }, orders);
    await loadWhole(clusters);
    await using fleet = await clusters.startFleetHere({ sourceAccess });
    await using workload = Workload.start(clusters.clients.source, orders);
    await fleet.coordinator.client.start(defaultStart);
    await untilCanCommit(fleet.coordinator.client);
    await clusters.clients.source
      .db('whole')
      .collection('items')
      .updateMany({}, { $inc: { n: 1 } });
    await clusters.clients.source.db('whole').createCollection('late', { validator: { n: { $gte: 0 } } });
    await clusters.cutOver(fleet.coordinator.client, workload);
    expect(await countOn(clusters[side], 'config', 'e2e.orders')).toBeGreaterThan(0);
    if (side === 'source') expect(await countOn(clusters.source, 'config', 'whole.items')).toBe(100);
  },
);

test(
  'a fleet with users migrates between clusters whose config servers are shards, and back (real servers from 8.0)',
  needs(real80),
  async () => {
    const shape = { ...twoShards, withUsers: true, configShards: ['source', 'destination'] as const };
    await using clusters = await Clusters.loaded(shape, orders);
    await loadWhole(clusters);
    const shards = { cluster0: migratorCredentials, cluster1: migratorCredentials };
    await using fleet = await clusters.startFleetHere({ sourceAccess: 'direct', shards });
    const { client } = fleet.coordinator;
    await client.start({ ...defaultStart, enableUserWriteBlocking: true, reversible: true });
    for (const from of ['source', 'destination'] as const) {
      await using workload = Workload.start(clusters.shoppers[from], orders, from === 'source' ? 0 : 1);
      if (from === 'destination') await client.reverse();
      await untilCanCommit(client);
      await untilTaken(() => client.commit());
      await expect(workload.ended).rejects.toMatchObject({ code: 371 });
      for (const instance of fleet.instances) await untilCommitted(instance.client);
      await clusters.expectEqual();
    }
    expect(await countOn(clusters.destination, 'config', 'e2e.orders')).toBeGreaterThan(0);
  },
);
