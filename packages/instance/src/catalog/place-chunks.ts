import type { Document } from 'mongodb';
import type { Cluster } from '../cluster/door.js';
import { codeOf } from '../cluster/failure.js';
import { namespaceOf } from './namespace.js';
import type { CollectionPlan } from './destination-plan.js';
import { readConfig } from './read-sharding.js';
import { serverCode } from './server-code.js';

/** Begin of the names of the zones that place chunks; they live only while a collection is being sharded. */
const ZONE_PREFIX = 'convoy_';

/** Puts every destination shard into a zone of its own. Repeating it changes nothing. */
export async function addZones(destination: Cluster, signal: AbortSignal): Promise<void> {
  for (const shard of destination.shardIds) {
    await destination.router.command('admin', { addShardToZone: shard, zone: zoneOf(shard) }, { signal });
  }
}

/**
 * Removes every zone and zone range of Convoy's, those of an earlier attempt that was cut off included; zones of others
 * are left alone.
 */
export async function removeZones(destination: Cluster, signal: AbortSignal): Promise<void> {
  const { router } = destination;
  const ranges = await readConfig(router, { find: 'tags', filter: {} }, signal);
  for (const range of ranges) {
    if (!String(range.tag).startsWith(ZONE_PREFIX)) continue;
    await setZone(destination, range.ns as string, { min: range.min as object, max: range.max as object, zone: null }, signal);
  }
  const shards = await readConfig(router, { find: 'shards', filter: {} }, signal);
  for (const shard of shards) {
    const zones = ((shard.tags as string[] | undefined) ?? []).filter((zone) => zone.startsWith(ZONE_PREFIX));
    for (const zone of zones) await router.command('admin', { removeShardFromZone: shard._id as string, zone }, { signal });
  }
}

/**
 * Shards an existing empty collection so that every planned range is created on its shard at once: zones over the
 * ranges first (`addZones` was called before), then one `shardCollection`, then the zones' ranges are removed.
 * The supporting index must exist already.
 */
export async function placeChunks(destination: Cluster, plan: CollectionPlan, signal: AbortSignal): Promise<void> {
  if (plan.sharding === null) return;
  const { key, unique, ranges } = plan.sharding;
  const namespace = namespaceOf(plan.entry);
  for (const { min, max, shard } of ranges) await setZone(destination, namespace, { min, max, zone: zoneOf(shard) }, signal);
  await shardCollection(destination, plan, { shardCollection: namespace, key, ...(unique ? { unique } : {}) }, signal);
  for (const { min, max } of ranges) await setZone(destination, namespace, { min, max, zone: null }, signal);
}

async function shardCollection(
  destination: Cluster,
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

function setZone(
  destination: Cluster,
  namespace: string,
  range: { min: object; max: object; zone: string | null },
  signal: AbortSignal,
): Promise<unknown> {
  return destination.router.command('admin', { updateZoneKeyRange: namespace, ...range }, { signal });
}

function zoneOf(shard: string): string {
  return `${ZONE_PREFIX}${shard}`;
}
