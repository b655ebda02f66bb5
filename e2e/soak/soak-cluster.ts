import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Cluster, Door } from '@convoy/instance/cluster/door';
import { listShards, readReleases, shardedClusterId } from '@convoy/instance/cluster/topology';
import type { Cluster as SimulatedCluster } from '@convoy/simulator/cluster/cluster';
import { NodeLink } from './node-link.js';
import { SoakDoor, type Surroundings } from './soak-door.js';

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
  access: Cluster['access'],
  around: Surroundings,
  signal: AbortSignal,
): Promise<Cluster> {
  const router = new SoakDoor(`${name} router`, routerLink(simulated), true, around);
  const call = { signal };
  const [releases, clusterId, addresses] = await Promise.all([readReleases(router, call), shardedClusterId(router, call), listShards(router, call)]);
  const shards = new Map<string, Door>();
  if (access === 'direct') {
    for (const member of simulated.shardMembers) {
      shards.set(member.id, new SoakDoor(`${name} ${member.id}`, new NodeLink(member.server, () => member.control.running), false, around));
    }
  }
  const doorOf = (id: string): Door => {
    const door = shards.get(id);
    if (door === undefined) throw new ConvoyError('shardUnknown', `${name} has no direct access to ${id}.`);
    return door;
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
    shard: doorOf,
    shareDoor: (id) => (access === 'direct' ? doorOf(id) : router),
    close: async () => {
      await Promise.all([router, ...shards.values()].map((door) => door.close()));
    },
  };
}
