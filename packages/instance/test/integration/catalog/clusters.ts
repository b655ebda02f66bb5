import type { ReleaseSeries } from '@convoy/simulator';
import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { MongoClient } from 'mongodb';
import type { NodeClient, ClusterClient } from '../../../src/cluster/node-client.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';

/** A cluster with the engine's clients and a user's client. Dispose of it in any case. */
export interface TestCluster extends AsyncDisposable {
  cluster: ClusterClient;
  client: MongoClient;
}

const sourceNames: ReadonlySet<string> = new Set(['cluster0', 'source']);

/**
 * Opens a sharded cluster (`shards` > 0) or replica set (0).
 * @param name `cluster0` or `source` for a source; every other one is a destination
 */
export async function openTestCluster(
  name: string,
  shards: number,
  options: { direct?: boolean; wrap?: (nodeClient: NodeClient) => NodeClient; release?: ReleaseSeries } = {},
): Promise<TestCluster> {
  const side = sourceNames.has(name) ? 'source' : 'destination';
  const servers = await startLocalCluster({
    side,
    topology: shards === 0 ? 'replicaSet' : { shards },
    ...(options.release !== undefined && { release: options.release }),
  });
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
