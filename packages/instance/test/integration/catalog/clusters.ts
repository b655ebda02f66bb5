import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { MongoClient } from 'mongodb';
import type { NodeClient, ClusterClient } from '../../../src/cluster/node-client.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';

/** A cluster with the engine's clients and a user's client. Dispose of it in any case. */
export interface TestCluster extends AsyncDisposable {
  cluster: ClusterClient;
  client: MongoClient;
}

/** Opens a sharded cluster (`shards` > 0) or replica set (0). */
export async function openTestCluster(
  name: string,
  shards: number,
  options: { direct?: boolean; wrap?: (nodeClient: NodeClient) => NodeClient } = {},
): Promise<TestCluster> {
  const servers = await startLocalCluster({ topology: shards === 0 ? 'replicaSet' : { shards } });
  const { signal } = new AbortController();
  const cluster = await openCluster(
    name,
    servers.connectionString,
    { direct: options.direct ?? true, signal },
    options.wrap,
  );
  const client = await new MongoClient(servers.connectionString).connect();
  return {
    cluster,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await cluster.close();
      await servers.close();
    },
  };
}
