import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { ClusterClient, NodeClient } from '@convoy/instance/cluster/node-client';
import { listShards, readReleases, replicaSetId, shardedClusterId } from '@convoy/instance/cluster/topology';
import { type ClusterOptions, startWholeCluster } from '@convoy/simulator/internal/cluster/cluster';
import { startWholeReplicaSet } from '@convoy/simulator/internal/cluster/replica-set';
import type { RouterMember } from '@convoy/simulator/internal/cluster/router-member';
import type { ShardMember } from '@convoy/simulator/internal/cluster/shard-member';
import { NodeLink } from './node-link.js';
import { SoakNodeClient, type Surroundings } from './soak-client.js';

/** A simulated cluster of a history. */
export interface SoakCluster {
  readonly kind: ClusterClient['kind'];
  /** `host:port` of its router, or of the replica set's member. */
  readonly host: string;
  readonly members: readonly ShardMember[];
  /** A way to the router, or to the replica set's member. */
  link(): NodeLink;
  close(): Promise<void>;
}

/** @param options no shards: a replica set */
export async function startSoakCluster({ shards, ...options }: ClusterOptions): Promise<SoakCluster> {
  if (shards === 0) {
    const set = await startWholeReplicaSet(options);
    const { host, member } = set;
    return { kind: 'replicaSet', host, members: [member], link: () => linkTo(member), close: () => set.close() };
  }
  const cluster = await startWholeCluster({ shards, ...options });
  const [router] = cluster.routerMembers;
  if (router === undefined) throw new Error('The cluster has no router.');
  const { router: host, shardMembers: members } = cluster;
  return { kind: 'sharded', host, members, link: () => linkTo(router), close: () => cluster.close() };
}

function linkTo({ server, control }: Pick<RouterMember, 'server' | 'control'>): NodeLink {
  return new NodeLink(server, () => control.running);
}

/** Connects an instance's process to a simulated cluster, as `openCluster` does over the network. */
export async function connectInProcess(
  name: string,
  simulated: SoakCluster,
  wanted: ClusterClient['access'],
  around: Surroundings,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const isSharded = simulated.kind === 'sharded';
  const access = isSharded ? wanted : 'direct';
  const router = new SoakNodeClient(`${name} router`, simulated.link(), isSharded, around);
  const call = { signal };
  const [releases, clusterId, shardIds] = await Promise.all([
    readReleases(router, call),
    isSharded ? shardedClusterId(router, call) : replicaSetId(router, call),
    isSharded
      ? listShards(router, call).then((shards) => shards.map(({ id }) => id))
      : [simulated.members[0]?.id ?? ''],
  ]);
  const shards = new Map<string, NodeClient>();
  if (access === 'direct') {
    for (const member of simulated.members)
      shards.set(
        member.id,
        isSharded ? new SoakNodeClient(`${name} ${member.id}`, linkTo(member), false, around) : router,
      );
  }
  const clientOf = (id: string): NodeClient => {
    const client = shards.get(id);
    if (client === undefined) throw new ConvoyError('shardUnknown', `${name} has no direct access to ${id}.`);
    return client;
  };
  return {
    name,
    kind: simulated.kind,
    ...releases,
    clusterId,
    displayHost: simulated.host,
    router,
    access,
    shardIds,
    shard: clientOf,
    taskClient: (id) => (access === 'direct' ? clientOf(id) : router),
    close: async () => {
      await Promise.all([...new Set([router, ...shards.values()])].map((client) => client.close()));
    },
  };
}
