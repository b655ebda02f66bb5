import type { Document } from 'mongodb';
import { setZone } from '../catalog/make/place-chunks.js';
import { readConfig } from '../catalog/read/read-sharding.js';
import type { ClusterClient } from '../cluster/node-client.js';

/** Zones of this name place the first chunks of a collection; Convoy removes them once the collection exists. */
const ownZone = { $regex: '^convoy_' };

/** Zones that a process left on the destination because it ended while it created a collection. */
export interface LeftoverZones {
  ranges: Document[];
  shards: { shard: string; zone: string }[];
}

/** Reads them; none on a replica set. */
export async function findLeftoverZones(destination: ClusterClient, signal: AbortSignal): Promise<LeftoverZones> {
  if (destination.kind !== 'sharded') return { ranges: [], shards: [] };
  const ranges = await readConfig(destination.router, { find: 'tags', filter: { tag: ownZone } }, signal);
  const tagged = await readConfig(destination.router, { find: 'shards', filter: { tags: ownZone } }, signal);
  const shards = tagged.flatMap(({ _id, tags }) =>
    (tags as string[]).filter((tag) => tag.startsWith('convoy_')).map((zone) => ({ shard: String(_id), zone })),
  );
  return { ranges, shards };
}

/** Removes them. May be repeated. */
export async function removeLeftoverZones(
  destination: ClusterClient,
  { ranges, shards }: LeftoverZones,
  signal: AbortSignal,
): Promise<void> {
  const { router } = destination;
  for (const { ns, min, max } of ranges)
    await setZone(destination, String(ns), { min: min as Uint8Array, max: max as Uint8Array }, null, signal);
  for (const { shard, zone } of shards) await router.command('admin', { removeShardFromZone: shard, zone }, { signal });
}
