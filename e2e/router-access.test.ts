import type { MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { sampled } from '../test/seed.js';
import { largeCollection, type Order } from './data.js';
import { Clusters, defaultStart, untilCanCommit, untilProgress } from './fleet.js';
import { needs } from './requirements.js';
import { onShards } from './shards.js';
import { Workload } from './workload.js';

const twoShards = { source: { shards: 2 }, destination: { shards: 2 } };
/** More than the 16 MB from which on a collection is divided between instances, of documents of 1 KB. */
const orders = 18_000;
/** As many bytes in fewer documents. */
const largeOrders = { count: 1_000, padding: 'x'.repeat(20_000) };
/** More than all other collections have together. */
const othersBytesMax = 2_000_000;
const throughRouter = { sourceAccess: 'router' } as const;

test(
  'a fleet that may not read the shards moves a cluster under load through its router (servers from 5.0)',
  needs({ version: [5, 0] }),
  async () => {
    const { count, padding } = largeOrders;
    await using clusters = await Clusters.loaded(twoShards, count);
    const { source, destination } = clusters.clients;
    const { database, name } = largeCollection;
    await source.db(database).collection<Order>(name).updateMany({}, { $set: { padding } });
    await using fleet = await clusters.startFleetHere(throughRouter);
    await using workload = Workload.start(source, count);

    await fleet.coordinator.client.start(defaultStart);
    await clusters.cutOver(fleet.coordinator.client, workload);
    const tasks = await destination.db('convoy_metadata').collection('tasks').find().toArray();
    expect(tasks.filter(({ copied }) => (copied as { bytes: number }).bytes > othersBytesMax)).toHaveLength(2);
  },
);

test(
  'an instance that reads through the router is killed in the middle of the copy (servers from 5.0)',
  needs({ version: [5, 0], inFull: true }),
  async () => {
    await using clusters = await Clusters.loaded(twoShards, orders);
    await using fleet = await clusters.startFleet({
      ...throughRouter,
      partition_seconds: 1,
      loadRateBytesPerSecond: 2_000_000,
    });
    await using workload = Workload.start(clusters.clients.source, orders);
    const [victim] = fleet.instances;
    if (!victim) throw new Error('There is no instance.');

    await fleet.coordinator.client.start(defaultStart);
    await untilProgress(
      victim.client,
      'a part is copied',
      ({ collectionCopy }) => (collectionCopy?.estimatedCopiedBytes ?? 0) > 3_000_000,
    );
    await victim.kill();
    expect(
      await clusters.clients.destination
        .db(largeCollection.database)
        .collection(largeCollection.name)
        .estimatedDocumentCount(),
    ).toBeLessThan(orders);
    await victim.restart();
    await clusters.cutOver(fleet.coordinator.client, workload);
  },
);

test.each(sampled(['direct', 'router']))(
  'orphans of moved chunks, and what is done to them, do not reach the destination: access %s (servers from 5.0)',
  needs({ version: [5, 0] }),
  async (sourceAccess) => {
    await using clusters = await Clusters.loaded(twoShards, 2_000);
    await plantOrphans(clusters.clients.source, clusters.source);
    await using fleet = await clusters.startFleetHere({ sourceAccess });
    await fleet.coordinator.client.start(defaultStart);
    await untilCanCommit(fleet.coordinator.client);
    // By a field that is no shard key: before 6.0 both writes reach the orphans as well, and streams show it.
    const moved = clusters.clients.source.db('e2e').collection('moved');
    const { deletedCount } = await moved.deleteMany({ state: 'old' });
    if (clusters.source.version[0] < 6) expect(deletedCount).toBe(200);
    await moved.updateMany({ state: 'older' }, { $set: { seen: true } });
    await clusters.commit(fleet.coordinator.client);
    expect(await clusters.clients.destination.db('e2e').collection('moved').countDocuments({ state: 'new' })).toBe(200);
  },
);

/**
 * Moves a chunk whose range deletion is suspended, and changes the moved documents: the orphans keep their old state.
 */
async function plantOrphans(client: MongoClient, cluster: TestCluster): Promise<void> {
  const [from = '', to = ''] = cluster.shardIds;
  const admin = client.db('admin');
  await admin.command({ shardCollection: 'e2e.moved', key: { number: 1 } });
  await client
    .db('e2e')
    .collection('moved')
    .insertMany(Array.from({ length: 400 }, (_, number) => ({ number, state: number % 2 === 0 ? 'old' : 'older' })));
  await admin.command({ split: 'e2e.moved', middle: { number: 200 } });
  await onShards(cluster, { configureFailPoint: 'suspendRangeDeletion', mode: 'alwaysOn' });
  const [chunk] = await client.db('config').collection('chunks').find({ 'min.number': 200 }).toArray();
  if (chunk === undefined) throw new Error('The collection has no chunk from 200 on.');
  await admin.command({
    moveChunk: 'e2e.moved',
    bounds: [chunk['min'], chunk['max']],
    to: chunk['shard'] === to ? from : to,
  });
  const targeted = Array.from({ length: 200 }, (_, index) => ({
    updateOne: { filter: { number: 200 + index }, update: { $set: { state: 'new' } } },
  }));
  await client.db('e2e').collection('moved').bulkWrite(targeted);
}
