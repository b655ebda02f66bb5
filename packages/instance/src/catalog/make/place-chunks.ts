import type { Document } from 'mongodb';
import { losslessDocument } from '../../bson/lossless.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { codeOf } from '../../cluster/failure.js';
import { mapBounded } from '../map-bounded.js';
import { namespaceOf } from '../namespace.js';
import type { CollectionPlan } from '../plan/destination-plan.js';
import { readConfig } from '../read/read-sharding.js';
import { serverCode } from '../server-code.js';

/** Begin of the names of the zones that place chunks; they live only while a collection is being sharded. */
const ZONE_PREFIX = 'convoy_';

/**
 * Zone commands in flight at once. The config servers take them one after the other, but each waits for a majority and
 * two network hops besides, so that tens of thousands would take minutes when every one waited for the one before.
 */
const ZONES_PARALLEL = 8;

/** Puts every destination shard into a zone of its own. Repeating it changes nothing. */
export async function addZones(destination: ClusterClient, signal: AbortSignal): Promise<void> {
  for (const shard of destination.shardIds) {
    await destination.router.command('admin', { addShardToZone: shard, zone: zoneOf(shard) }, { signal });
  }
}

/**
 * Removes every zone and zone range of Convoy's, those of an earlier attempt that was cut off included; zones of others
 * are left alone.
 */
export async function removeZones(destination: ClusterClient, signal: AbortSignal): Promise<void> {
  const { router } = destination;
  const ranges = await readConfig(router, { find: 'tags', filter: {} }, signal);
  const own = ranges.filter(({ tag }) => String(tag).startsWith(ZONE_PREFIX));
  await mapBounded(own, ZONES_PARALLEL, ({ ns, min, max }) =>
    setZone(destination, ns as string, { min: min as Uint8Array, max: max as Uint8Array }, null, signal),
  );
  const shards = await readConfig(router, { find: 'shards', filter: {} }, signal);
  for (const shard of shards) {
    const zones = ((shard.tags as string[] | undefined) ?? []).filter((zone) => zone.startsWith(ZONE_PREFIX));
    for (const zone of zones)
      await router.command('admin', { removeShardFromZone: shard._id as string, zone }, { signal });
  }
}

/**
 * Shards an existing empty collection so that every planned range is created on its shard at once: zones over the
 * ranges first (`addZones` was called before), then one `shardCollection`, then the zones' ranges are removed.
 * The supporting index must exist already.
 */
export async function placeChunks(
  destination: ClusterClient,
  plan: CollectionPlan,
  signal: AbortSignal,
): Promise<void> {
  if (plan.sharding === null) return;
  const { key, unique, ranges } = plan.sharding;
  const namespace = namespaceOf(plan.entry);
  const setZones = (zone: (shard: string) => string | null): Promise<unknown> =>
    mapBounded(ranges, ZONES_PARALLEL, ({ min, max, shard }) =>
      setZone(destination, namespace, { min, max }, zone(shard), signal),
    );
  await setZones(zoneOf);
  await shardCollection(destination, plan, { shardCollection: namespace, key, ...(unique ? { unique } : {}) }, signal);
  await setZones(() => null);
}

async function shardCollection(
  destination: ClusterClient,
  plan: CollectionPlan,
  command: Document,
  signal: AbortSignal,
): Promise<void> {
  // Shard keys know only the simple collation, which must be said where the collection has another.
  const collation = plan.options.collation === undefined ? {} : { collation: { locale: 'simple' } };
  try {
    await destination.router.command('admin', { ...command, ...collation }, { signal });
  } catch (failure) {
    if (codeOf(failure) !== serverCode.alreadyInitialized) throw failure;
  }
}

/** Puts a range of a collection into a zone, or out of every one when the zone is null. */
export function setZone(
  destination: ClusterClient,
  namespace: string,
  { min, max }: { min: Uint8Array; max: Uint8Array },
  zone: string | null,
  signal: AbortSignal,
): Promise<unknown> {
  const command = { updateZoneKeyRange: namespace, min: losslessDocument(min), max: losslessDocument(max), zone };
  return destination.router.command('admin', command, { signal });
}

function zoneOf(shard: string): string {
  return `${ZONE_PREFIX}${shard}`;
}
