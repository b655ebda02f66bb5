import { expect, test } from 'vitest';
import { Clusters, defaultStart, untilCanCommit, untilCommitted } from './fleet.js';
import { isFullRun, needs } from './requirements.js';
import { Workload } from './workload.js';

const orders = isFullRun ? 2_000 : 300;

test(
  'a lone instance moves a replica set into another one without Redis (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using clusters = await Clusters.loaded({ source: 'replicaSet', destination: 'replicaSet' }, orders);
    await using instance = await clusters.startLoneInstanceHere();
    await using workload = Workload.start(clusters.clients.source, orders);

    await instance.client.start(defaultStart);
    const { syncID, coordinatorID } = await untilCanCommit(instance.client);
    expect(coordinatorID).toBe(syncID);
    await workload.stop();
    await clusters.commit(instance.client);
  },
);

test(
  'a replica set moves into a sharded cluster, with the collections sharded that were asked for (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    await using clusters = await Clusters.loaded({ source: 'replicaSet', destination: { shards: 2 } }, orders);
    await using instance = await clusters.startLoneInstanceHere();
    await using workload = Workload.start(clusters.clients.source, orders);
    const shardingEntries = [
      {
        database: 'e2e',
        collection: 'orders',
        shardCollection: { key: [{ customer: 1 as const }, { total: 1 as const }] },
      },
    ];

    await instance.client.start({ ...defaultStart, sharding: { createSupportingIndexes: true, shardingEntries } });
    await untilCanCommit(instance.client);
    await workload.stop();
    await instance.client.commit();
    await untilCommitted(instance.client);

    const sharded = await clusters.clients.destination
      .db('config')
      .collection<{ _id: string }>('collections')
      .findOne({ _id: 'e2e.orders' });
    expect(sharded).toMatchObject({ key: { customer: 1, total: 1 } });
    const comparison = await clusters.compare();
    // The supporting index is all that the destination may have beyond the source.
    expect(comparison.differences.filter((difference) => !difference.startsWith('e2e.orders: indexes differ'))).toEqual(
      [],
    );
  },
);
