import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { nameSome } from '../../catalog/name-some.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { listShards } from '../../cluster/topology.js';
import type { LeaderDependencies } from '../migration/migration-dependencies.js';
import type { Runtime } from '../migration/runtime.js';

/**
 * Compares the shards of both clusters with those at the start. Nobody reads a shard that joins a source which is read
 * from its shards, and no fence covers one that joins the destination. The changes of a shard that leaves the source
 * are lost for a stream that is opened again. Routers read shards that join: the leader records them, since they may
 * not leave either.
 * @throws ConvoyError `topologyChanged` that names the shards
 */
export async function refuseOtherShards(deps: LeaderDependencies, signal: AbortSignal): Promise<void> {
  const { runtime, source, destination, records, watch, leaderEpoch } = deps;
  const { destinationShards, joinedShards = [] } = watch.view.record;
  if (destinationShards !== undefined)
    refuse(destination, changed(destinationShards, await shardsOf(runtime, destination, signal)));
  const present = await shardsOf(runtime, source, signal);
  const { joined, left } = changed([...source.shardIds, ...joinedShards], present);
  refuse(source, { joined: source.access === 'direct' ? joined : [], left });
  if (joined.length === 0) return;
  await records.updateAsLeader(leaderEpoch, { joinedShards: [...joinedShards, ...joined] }, signal);
  await watch.refresh(signal);
}

/** The ids of a cluster's shards now. */
export async function shardsOf(
  runtime: Runtime,
  { name, kind, router, shardIds }: ClusterClient,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (kind === 'replicaSet') return shardIds;
  const listed = await runtime.retrying(`list the shards of ${name}`, () => listShards(router, { signal }), signal);
  return listed.map(({ id }) => id);
}

interface Change {
  joined: string[];
  left: string[];
}

function changed(before: readonly string[], now: readonly string[]): Change {
  return { joined: now.filter((id) => !before.includes(id)), left: before.filter((id) => !now.includes(id)) };
}

function refuse({ name }: ClusterClient, { joined, left }: Change): void {
  const what = [
    ...(joined.length > 0 ? [`shards joined ${name}: ${nameSome(joined)}`] : []),
    ...(left.length > 0 ? [`shards left ${name}: ${nameSome(left)}`] : []),
  ];
  if (what.length > 0) throw new ConvoyError('topologyChanged', `Since the start, ${what.join('; ')}. Start anew.`);
}
