import { startCluster } from '@convoy/simulator/cluster/cluster';
import { startReplicaSet } from '@convoy/simulator/cluster/replica-set';
import { MongoClient } from 'mongodb';
import type { Door, Cluster } from '../../../src/cluster/door.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';

/** A simulated cluster with the engine's doors to it and a client of a user. Dispose of it in any case. */
export interface TestCluster extends AsyncDisposable {
  cluster: Cluster;
  client: MongoClient;
}

/** Opens a simulated sharded cluster (`shards` > 0) or replica set (0). */
export async function openTestCluster(
  name: string,
  shards: number,
  options: { direct?: boolean; wrap?: (door: Door) => Door } = {},
): Promise<TestCluster> {
  const simulated = shards === 0 ? await startReplicaSet() : await startCluster({ shards });
  const { signal } = new AbortController();
  const cluster = await openCluster(name, simulated.connectionString, { direct: options.direct ?? true, signal }, options.wrap);
  const client = await new MongoClient(simulated.connectionString).connect();
  return {
    cluster,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await cluster.close();
      await simulated.close();
    },
  };
}
