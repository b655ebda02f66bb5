import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient, NodeClient } from '@convoy/instance/cluster/node-client';
import { listShards, readReleases, shardedClusterId } from '@convoy/instance/cluster/topology';
import type { Cluster as SimulatedCluster } from '@convoy/simulator/internal/cluster/cluster';
import { NodeLink } from './node-link.js';
import { SoakNodeClient, type Surroundings } from './soak-client.js';

/** The way to the first router of a cluster. */
export function routerLink(simulated: SimulatedCluster): NodeLink {
  const [router] = simulated.routerMembers;
  if (router === undefined) throw new Error('The cluster has no router.');
  return new NodeLink(router.server, () => router.control.running);
}

/** Connects an instance's process to a simulated cluster, as `openCluster` does over the network. */
export async function connectInProcess(
  name: string,
  simulated: SimulatedCluster,
  access: ClusterClient['access'],
  around: Surroundings,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const router = new SoakNodeClient(`${name} router`, routerLink(simulated), true, around);
  const call = { signal };
  const [releases, clusterId, addresses] = await Promise.all([
    readReleases(router, call),
    shardedClusterId(router, call),
    listShards(router, call),
  ]);
  const shards = new Map<string, NodeClient>();
  if (access === 'direct') {
    for (const member of simulated.shardMembers) {
      shards.set(
        member.id,
        new SoakNodeClient(
          `${name} ${member.id}`,
          new NodeLink(member.server, () => member.control.running),
          false,
          around,
        ),
      );
    }
  }
  const clientOf = (id: string): NodeClient => {
    const client = shards.get(id);
    if (client === undefined) throw new ConvoyError('shardUnknown', `${name} has no direct access to ${id}.`);
    return client;
  };
  return {
    name,
    kind: 'sharded',
    ...releases,
    clusterId,
    displayHost: simulated.router,
    router,
    access,
    shardIds: addresses.map(({ id }) => id),
    shard: clientOf,
    taskClient: (id) => (access === 'direct' ? clientOf(id) : router),
    close: async () => {
      await Promise.all([router, ...shards.values()].map((client) => client.close()));
    },
  };
}
