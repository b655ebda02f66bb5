import type { Document } from 'mongodb';
import { mapBounded } from '../async/together.js';
import { elementType } from '../bson/element-type.js';
import { elementsOf } from '../bson/scan.js';
import { losslessDocument } from '../bson/sent-value.js';
import { codeOf, serverErrorCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { shownName } from '../cluster/time-series.js';
import type { CollectionPlan } from './destination-plan.js';
import type { DestinationRange } from './distribution.js';
import { namespaceOf } from './namespace.js';
import { readConfig } from './read-sharding.js';
import { timeOfShardKey, userShardKey } from './time-series.js';

/** Prefix of the names of all of Convoy's zones; they exist only while a collection is being sharded. */
const ZONE_PREFIX = 'convoy_';

/**
 * Zone commands in flight at once. The config servers process them one after the other, but each also waits for a
 * majority and two network hops. Sequential commands would take minutes for tens of thousands of ranges.
 */
const ZONES_PARALLEL = 8;

/** Adds every destination shard to its own zone. Safe to repeat. */
export async function addZones(destination: ClusterClient, signal: AbortSignal): Promise<void> {
  await mapBounded(destination.shardIds, ZONES_PARALLEL, (shard) =>
    destination.router.command('admin', { addShardToZone: shard, zone: zoneOf(shard) }, { signal }),
  );
}

/** Convoy's own zones: of a process that creates collections, or that ended while it did. */
export interface OwnZones {
  ranges: { namespace: string; zone: string; min: Uint8Array; max: Uint8Array }[];
  shards: { shard: string; zone: string }[];
}

/** Reads every zone and zone range of Convoy; none on a replica set. */
export async function findOwnZones(destination: ClusterClient, signal: AbortSignal): Promise<OwnZones> {
  if (destination.kind !== 'sharded') return { ranges: [], shards: [] };
  const [ranges = [], shards = []] = await Promise.all(
    ['tags', 'shards'].map((find) => readConfig(destination.router, { find, filter: {} }, signal)),
  );
  return {
    ranges: ranges
      .map(({ ns, tag, min, max }) => ({
        ...{ namespace: String(ns), zone: String(tag) },
        ...{ min: min as Uint8Array, max: max as Uint8Array },
      }))
      .filter(({ zone }) => isOwnZone(zone)),
    shards: shards.flatMap(({ _id, tags }) =>
      ((tags as string[] | undefined) ?? []).filter(isOwnZone).map((zone) => ({ shard: String(_id), zone })),
    ),
  };
}

/** Those among them that place chunks of users' collections: the fence's may be in use meanwhile. */
export async function findZonesOfChunks(destination: ClusterClient, signal: AbortSignal): Promise<OwnZones> {
  const { ranges, shards } = await findOwnZones(destination, signal);
  const zones = new Set(destination.shardIds.map(zoneOf));
  const places = ({ zone }: { zone: string }): boolean => zones.has(zone);
  return { ranges: ranges.filter(places), shards: shards.filter(places) };
}

/** Removes zones and zone ranges of Convoy; other zones stay unchanged. Safe to repeat. */
export async function removeOwnZones(
  destination: ClusterClient,
  { ranges, shards }: OwnZones,
  signal: AbortSignal,
): Promise<void> {
  await mapBounded(ranges, ZONES_PARALLEL, ({ namespace, min, max }) =>
    setZone(destination, namespace, { min, max }, null, signal),
  );
  await mapBounded(shards, ZONES_PARALLEL, ({ shard, zone }) =>
    destination.router.command('admin', { removeShardFromZone: shard, zone }, { signal }),
  );
}

/**
 * Shards an existing empty collection so that the server creates every planned range on its shard at once. It assigns
 * zones to the ranges (after `addZones`), runs one `shardCollection`, then removes the zone ranges. The supporting
 * index must exist already.
 */
export async function placeChunks(
  destination: ClusterClient,
  plan: CollectionPlan,
  signal: AbortSignal,
): Promise<void> {
  if (plan.sharding === null) return;
  const { key, unique, ranges } = plan.sharding;
  const namespace = namespaceOf(plan.entry);
  const { timeseries } = plan.options as { timeseries?: Document };
  const command = {
    shardCollection: shownName(plan.entry),
    key: timeseries === undefined ? key : userShardKey(key, timeseries),
    ...(unique ? { unique } : {}),
  };
  if (!canBeZones(plan.sharding)) {
    await shardCollection(destination, plan, command, signal);
    await moveRanges(destination, namespace, ranges, signal);
    return;
  }
  const setZones = (zone: (shard: string) => string | null): Promise<unknown> =>
    mapBounded(ranges, ZONES_PARALLEL, ({ min, max, shard }) =>
      setZone(destination, namespace, { min, max }, zone(shard), signal),
    );
  await setZones(zoneOf);
  await shardCollection(destination, plan, command, signal);
  await setZones(() => null);
}

/** Servers refuse a zone of a time series whose bounds have any time but MinKey (8.0 source). */
export function canBeZones({ key, ranges }: NonNullable<CollectionPlan['sharding']>): boolean {
  const time = timeOfShardKey(key);
  if (time === undefined) return true;
  const isWhole = (bound: Uint8Array): boolean => {
    const at = [...elementsOf(bound)].find(({ name }) => name === time);
    return at?.type === elementType.minKey;
  };
  return ranges.every(({ min, max }) => isWhole(min) && isWhole(max));
}

/** Splits an empty collection at the bounds of its ranges, and moves its chunks to their shards. Safe to repeat. */
export async function moveRanges(
  destination: ClusterClient,
  namespace: string,
  ranges: readonly DestinationRange[],
  signal: AbortSignal,
): Promise<void> {
  const { router } = destination;
  const [row] = await readConfig(router, { find: 'collections', filter: { _id: namespace } }, signal);
  const readChunks = (): Promise<Document[]> =>
    readConfig(router, { find: 'chunks', filter: { uuid: row?.uuid as unknown }, sort: { min: 1 } }, signal);
  const name = (bound: unknown): string => Buffer.from(bound as Uint8Array).toString('base64');
  const begins = new Set((await readChunks()).map(({ min }) => name(min)));
  for (const { min } of ranges)
    if (!begins.has(name(min)))
      await router.command('admin', { split: namespace, middle: losslessDocument(min) }, { signal });
  // A hashed key has more chunks than ranges: each chunk belongs to the range that began last.
  const shards = new Map(ranges.map(({ min, shard }) => [name(min), shard]));
  let to: string | undefined;
  for (const { min, max, shard } of await readChunks()) {
    to = shards.get(name(min)) ?? to;
    if (to === undefined || to === shard) continue;
    const bounds = [losslessDocument(min as Uint8Array), losslessDocument(max as Uint8Array)];
    await router.command('admin', { moveChunk: namespace, bounds, to }, { signal });
  }
}

async function shardCollection(
  destination: ClusterClient,
  plan: CollectionPlan,
  command: Document,
  signal: AbortSignal,
): Promise<void> {
  // Shard keys support only the simple collation; the command must say so if the collection has another.
  const collation = plan.options.collation === undefined ? {} : { collation: { locale: 'simple' } };
  try {
    await destination.router.command('admin', { ...command, ...collation }, { signal });
  } catch (failure) {
    if (codeOf(failure) !== serverErrorCode.alreadyInitialized) throw failure;
  }
}

/** Assigns a range of a collection to a zone, or to none if the zone is null. */
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

/** Whether a zone is one of those that place chunks; they exist only while a collection is being sharded. */
export function isOwnZone(zone: string): boolean {
  return zone.startsWith(ZONE_PREFIX);
}
