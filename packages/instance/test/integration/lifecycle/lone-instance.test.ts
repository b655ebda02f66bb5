import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { type LocalCluster, startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../src/async/clock.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { createRuntime } from '../../../src/lifecycle/migration/runtime.js';
import { SyncInstance } from '../../../src/lifecycle/instance/sync-instance.js';
import { Metrics } from '../../../src/metrics/metrics.js';
import { instanceLogger } from '../instance-log.js';
import { anyReleases } from '../contract/releases.js';
import { documentsOf } from '../kinds/equal-databases.js';

let clusters: LocalCluster[] = [];
let clients: MongoClient[] = [];

beforeAll(async () => {
  const topology = { shards: 2 };
  const { cluster0, cluster1 } = anyReleases;
  clusters = await Promise.all([
    startLocalCluster({ side: 'source', topology, ...(cluster0 !== undefined && { release: cluster0 }) }),
    startLocalCluster({ side: 'destination', topology, ...(cluster1 !== undefined && { release: cluster1 }) }),
  ]);
  clients = clusters.map((cluster) => new MongoClient(cluster.connectionString));
});

afterAll(async () => {
  for (const client of clients) await client.close();
  for (const cluster of clusters) await cluster.close();
});

function client(index: number): MongoClient {
  const found = clients[index];
  if (found === undefined) throw new Error('no such cluster');
  return found;
}

it('migrates a sharded cluster under writes to COMMITTED, byte for byte', async () => {
  const source = client(0);
  await source.db('admin').command({ enableSharding: 'shop' });
  await source.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  const orders = source.db('shop').collection<{ _id: number }>('orders');
  await orders.insertMany(Array.from({ length: 5000 }, (_, _id) => ({ _id, text: 'x'.repeat(200), n: 0 })));
  await source
    .db('shop')
    .collection('plain')
    .insertMany(Array.from({ length: 500 }, (_, i) => ({ name: `p${i}` })));
  await source
    .db('shop')
    .collection('plain')
    .createIndexes([{ key: { name: 1 }, name: 'name_1', unique: true }]);

  const config = parseInstanceConfig({
    flags: {
      cluster0: clusters[0]?.connectionString,
      cluster1: clusters[1]?.connectionString,
      partition_seconds: 1,
      checkpoint_ms: 200,
    },
  });
  const runtime = createRuntime(
    config,
    systemClock,
    instanceLogger('instance single'),
    new Metrics({ processMetrics: false }),
  );
  const identity = { id: 'single', syncID: 'single', incarnation: 'a', release: '2.0.0' };
  const fleet = new LoneFleet();
  await fleet.join(identity);
  const instance = new SyncInstance(runtime, fleet, identity);
  await instance.open();
  expect(instance.state).toBe('IDLE');
  await instance.start(parseStartRequest({ source: 'cluster0', destination: 'cluster1' }));

  let writes = 0;
  await expect
    .poll(
      async () => {
        await orders.updateOne({ _id: writes % 5000 }, { $inc: { n: 1 }, $set: { [`f${writes % 7}`]: writes } });
        await orders.insertOne({ _id: 10_000 + writes });
        await orders.deleteOne({ _id: 10_000 + writes - 20 });
        writes += 1;
        return (await instance.progress()).canCommit;
      },
      { interval: 5 },
    )
    .toBe(true);
  await instance.commit();
  await expect.poll(async () => (await instance.progress()).state).toBe('COMMITTED');
  const progress = await instance.progress();
  expect(progress).toMatchObject({ canWrite: true, lagTimeSeconds: 0, info: 'commit completed' });
  for (const name of ['orders', 'plain'])
    expect(await documentsOf(client(1), 'shop', name, false)).toEqual(
      await documentsOf(client(0), 'shop', name, false),
    );
  const indexes = await client(1).db('shop').collection('plain').indexes();
  expect(indexes.map(({ name, unique }) => ({ name, unique }))).toContainEqual({ name: 'name_1', unique: true });
  await instance.close();
});
