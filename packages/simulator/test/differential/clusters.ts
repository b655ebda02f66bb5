import { startTestCluster } from '../../../testbed/src/cluster/start-test-cluster.js';
import { ScratchFolder } from '../../../testbed/src/process/scratch-folder.js';
import { startCluster } from '../../src/cluster/cluster.js';
import { clusterRoles } from '../conformance/cluster-stage.js';
import { WireClient } from '../conformance/wire-client.js';
import type { Nodes } from './side.js';

/** Idle streams of the simulator move on fast, so that they are not waited for. */
const noopIntervalMs = 20;

/** A simulated cluster of two shards, its balancer at rest. */
export async function openSimulated(): Promise<Nodes> {
  const cluster = await startCluster({ shards: 2, noopIntervalMs, balancerRoundMs: 0 });
  const [shard0 = '', shard1 = ''] = cluster.shards;
  return nodes({ router: cluster.router, shard0, shard1 }, clusterRoles(cluster), () => cluster.close());
}

/** The servers of MONGO_BIN as a cluster of two shards. */
export async function openReal(): Promise<Nodes> {
  const folder = ScratchFolder.create('differential');
  const cluster = await startTestCluster({ name: 'real', topology: { shards: 2 }, folder });
  const [shard0 = '', shard1 = ''] = cluster.shardIds.map((id) => hostOf(cluster.shardConnectionString(id)));
  const router = hostOf(cluster.connectionString);
  const roles = new Map([[router, 'router'], [shard0, 'shard0'], [shard1, 'shard1']]);
  return nodes({ router, shard0, shard1 }, roles, async () => {
    await cluster.close();
    folder[Symbol.dispose]();
  });
}

async function nodes(hosts: Readonly<Record<'router' | 'shard0' | 'shard1', string>>, roles: ReadonlyMap<string, string>, close: () => Promise<void>): Promise<Nodes> {
  const [router, shard0, shard1] = await Promise.all([hosts.router, hosts.shard0, hosts.shard1].map((host) => WireClient.connect(host)));
  if (router === undefined || shard0 === undefined || shard1 === undefined) throw new Error('A cluster has a router and two shards.');
  return {
    clients: { router, shard0, shard1 },
    roles,
    close: async () => {
      for (const client of [router, shard0, shard1]) client.close();
      await close();
    },
  };
}

function hostOf(connectionString: string): string {
  return new URL(connectionString).host;
}
