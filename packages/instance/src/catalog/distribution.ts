import { BSON } from 'mongodb';
import { mapBounded } from '../async/together.js';
import { elementType } from '../bson/element-type.js';
import { compareRaw } from '../bson/order.js';
import {
  elementsOf,
  encodeValue,
  findValue,
  maxKey,
  minKey,
  nullValue,
  ownedValue,
  RawValue,
  rawValue,
} from '../bson/scan.js';
import { isKeyBound, isLossless } from '../bson/sent-value.js';
import { keyBound } from '../bson/shard-key.js';
import type { ClusterClient, Namespace } from '../cluster/node-client.js';
import type { CollectionPlan, DestinationPlan } from './destination-plan.js';
import { readCursor } from './list-namespaces.js';
import type { Catalog, CatalogEntry, Chunk, KeyPattern } from './namespace.js';

/** A range of a collection's shard key and the destination shard that will own it. */
export interface DestinationRange {
  /** Bounds are documents of BSON bytes that the driver can write. */
  min: Uint8Array;
  max: Uint8Array;
  shard: string;
}

/**
 * A range costs two router commands of about 10 ms. Above this count (some 40 s per collection), adjacent chunks on one
 * shard are placed as one.
 */
const RANGES_KEPT_MAX = 2_000;

/**
 * Assigns the ranges of a sharded collection to the destination's shards. With equal shard counts, every range goes to
 * the shard at the same position in the sorted lists. Otherwise each shard gets an equal number of consecutive ranges.
 * If the key starts with a hashed field and there are fewer ranges than shards, the hash space is split evenly.
 * @param chunks the source's, in order, without gaps; empty if the source is not sharded
 * @returns in order, without gaps; empty if nothing is known about a ranged key (the server then creates one chunk)
 */
export function distributeChunks(
  key: KeyPattern,
  chunks: readonly Chunk[],
  sourceShardIds: readonly string[],
  destinationShardIds: readonly string[],
): DestinationRange[] {
  const destinations = [...destinationShardIds].sort();
  const sources = [...sourceShardIds].sort();
  const ranges = sendableRanges(chunks);
  const placed = ({ min, max }: Chunk, shard: string): DestinationRange => ({ min, max, shard });
  if (ranges.length > 0 && sources.length === destinations.length) {
    const kept = ranges.length > RANGES_KEPT_MAX ? ownershipRanges(ranges) : ranges;
    return kept.map((chunk) => placed(chunk, destinations[sources.indexOf(chunk.shard)] ?? shardAt(destinations, 0)));
  }
  if (ranges.length < destinations.length && beginsHashed(key)) return splitHashSpace(key, destinations);
  return ranges.map((chunk, position) =>
    placed(chunk, shardAt(destinations, Math.floor((position * destinations.length) / ranges.length))),
  );
}

/**
 * Assigns every database its primary shard on the destination. With equal shard counts, by position in the sorted
 * lists. Otherwise the databases with the most unsharded data come first, each to the shard that has least so far.
 */
export function distributeDatabases(
  catalog: Catalog,
  sourceShardIds: readonly string[],
  destinationShardIds: readonly string[],
): Map<string, string> {
  const destinations = [...destinationShardIds].sort();
  const sources = [...sourceShardIds].sort();
  const databases = Map.groupBy(catalog, ({ database }) => database);
  if (sources.length === destinations.length) {
    const mapped = [...databases].map(([database, entries]): [string, string] => [
      database,
      destinations[sources.indexOf(commonPrimary(entries))] ?? shardAt(destinations, 0),
    ]);
    return new Map(mapped);
  }
  const loads = new Map(destinations.map((shard) => [shard, { bytes: 0, databases: 0 }]));
  const bySize = [...databases].map(([database, entries]) => ({ database, bytes: unshardedBytes(entries) }));
  bySize.sort((a, b) => b.bytes - a.bytes || (a.database < b.database ? -1 : 1));
  const result = new Map<string, string>();
  for (const { database, bytes } of bySize) {
    const [shard, load] = [...loads].reduce((least, one) =>
      one[1].bytes < least[1].bytes || (one[1].bytes === least[1].bytes && one[1].databases < least[1].databases)
        ? one
        : least,
    );
    load.bytes += bytes;
    load.databases += 1;
    result.set(database, shard);
  }
  return result;
}

/** Half of the hash space: hashes are signed 64-bit numbers. */
const HASH_SPACE_HALF = 2n ** 63n;

function splitHashSpace(key: KeyPattern, shards: readonly string[]): DestinationRange[] {
  const bound = (position: number): Uint8Array => {
    if (position === 0) return keyBound(key, [], minKey);
    if (position === shards.length) return keyBound(key, [], maxKey);
    const hash = (2n * HASH_SPACE_HALF * BigInt(position)) / BigInt(shards.length) - HASH_SPACE_HALF;
    return keyBound(key, [encodeValue(BSON.Long.fromBigInt(hash))], minKey);
  };
  return shards.map((shard, position) => ({ min: bound(position), max: bound(position + 1), shard }));
}

/**
 * The driver cannot write every value, for example dates beyond JavaScript's, and zones do not take every bound that
 * resharding may have chosen. Ranges that meet at such a bound become one.
 */
function sendableRanges(chunks: readonly Chunk[]): Chunk[] {
  const ranges: Chunk[] = [];
  for (const chunk of chunks) {
    const last = ranges.at(-1);
    if (last === undefined || isSendable(chunk.min)) ranges.push({ ...chunk });
    else last.max = chunk.max;
  }
  return ranges;
}

function isSendable(bound: Uint8Array): boolean {
  if (!isLossless(new RawValue(elementType.document, bound))) return false;
  return [...elementsOf(bound)].every((element) => isKeyBound(rawValue(bound, element)));
}

function beginsHashed(key: KeyPattern): boolean {
  return [...key.values()][0] === 'hashed';
}

function shardAt(shards: readonly string[], position: number): string {
  const shard = shards[position];
  if (shard === undefined) throw new RangeError('A sharded destination has at least one shard');
  return shard;
}

/** The primary of a database: the shard that most of its collections are on (from 8.0 on, some may be elsewhere). */
function commonPrimary(entries: readonly CatalogEntry[]): string {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(entry.primaryShard, (counts.get(entry.primaryShard) ?? 0) + 1);
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function unshardedBytes(entries: readonly CatalogEntry[]): number {
  return entries.filter((entry) => entry.sharding === null).reduce((bytes, entry) => bytes + entry.sizeBytes, 0);
}

/** Joins adjacent chunks of one owner: the result shows who owns what, however the chunks are split. */
export function ownershipRanges(chunks: readonly Chunk[]): Chunk[] {
  const ranges: Chunk[] = [];
  for (const { min, max, shard } of chunks) {
    const last = ranges.at(-1);
    if (last?.shard === shard && Buffer.compare(last.max, min) === 0) last.max = max;
    else ranges.push({ min, max, shard });
  }
  return ranges;
}

/** Ranges per destination shard: enough for a later balancer, few enough to place. */
const RANGES_PER_SHARD = 4;

/** Sampled keys per range: with 20, the ranges are within about a quarter of their mean size. */
const SAMPLES_PER_RANGE = 20;

/** Collections sampled concurrently. */
const COLLECTIONS_PARALLEL = 4;

/**
 * Completes a plan from a replica set to a sharded cluster. For collections to be sharded by a ranged key of unknown
 * values, it takes ranges of about equal counts from a random sample of the source. All other collections stay as
 * planned. Two calls give different ranges, all of them valid.
 * @throws what the source's client throws
 */
export async function withSampledRanges(
  plan: DestinationPlan,
  source: ClusterClient,
  destination: Pick<ClusterClient, 'shardIds'>,
  signal: AbortSignal,
): Promise<DestinationPlan> {
  const collections = await mapBounded(
    plan.collections,
    COLLECTIONS_PARALLEL,
    async (collection): Promise<CollectionPlan> => {
      if (collection.sharding === null || collection.sharding.ranges.length > 0) return collection;
      const ranges = await sampleRanges(
        source,
        collection.sourceNamespace,
        collection.sharding.key,
        destination.shardIds,
        signal,
      );
      return { ...collection, sharding: { ...collection.sharding, ranges } };
    },
  );
  return { ...plan, collections };
}

async function sampleRanges(
  source: ClusterClient,
  namespace: Namespace,
  key: KeyPattern,
  destinationShardIds: readonly string[],
  signal: AbortSignal,
): Promise<DestinationRange[]> {
  const shards = [...destinationShardIds].sort();
  const rangeCount = shards.length * RANGES_PER_SHARD;
  const fields = rangedFields(key);
  const sampled = await sampleKeys(source, namespace, fields, rangeCount * SAMPLES_PER_RANGE, signal);
  const points = quantiles(sampled, rangeCount).map((values) => keyBound(key, values, minKey));
  const [first, last] = [keyBound(key, [], minKey), keyBound(key, [], maxKey)];
  const bounds = [first, ...points, last];
  return bounds.slice(1).map((max, position) => ({
    min: bounds[position] ?? first,
    max,
    shard: shards[Math.floor((position * shards.length) / (bounds.length - 1))] as string,
  }));
}

/** Fields whose values can bound a range: all before the hashed one. */
function rangedFields(key: KeyPattern): string[] {
  const entries = [...key];
  const hashed = entries.findIndex(([, value]) => value === 'hashed');
  return (hashed < 0 ? entries : entries.slice(0, hashed)).map(([field]) => field);
}

/**
 * Shard-key values of random documents in the order of the key; missing fields count as null, as they do for the
 * server.
 */
async function sampleKeys(
  source: ClusterClient,
  namespace: Namespace,
  fields: readonly string[],
  size: number,
  signal: AbortSignal,
): Promise<RawValue[][]> {
  const names = fields.map((_, position) => `v${position}`);
  const pipeline = [
    { $sample: { size } },
    {
      $project: {
        _id: 0,
        ...Object.fromEntries(fields.map((field, position) => [`v${position}`, { $ifNull: [`$${field}`, null] }])),
      },
    },
    { $sort: Object.fromEntries(names.map((name) => [name, 1])) },
  ];
  const command = {
    aggregate: namespace.name,
    pipeline,
    collation: { locale: 'simple' },
    allowDiskUse: true,
    cursor: {},
  };
  const decode = (bytes: Uint8Array): RawValue[] =>
    names.map((name) => ownedValue(findValue(bytes, name) ?? nullValue));
  const rows = await readCursor(source.router, namespace.database, command, decode, signal);
  return rows.filter((values) => values.every((value) => isLossless(value) && isKeyBound(value)));
}

/** Up to `count - 1` different values that cut a sorted sample into equal parts. */
function quantiles(sorted: readonly RawValue[][], count: number): RawValue[][] {
  const points: RawValue[][] = [];
  for (let part = 1; part < count; part += 1) {
    const point = sorted[Math.floor((part * sorted.length) / count)];
    // Nothing sorts below the smallest sampled value: a range that ends there would be empty.
    const before = points.at(-1) ?? sorted[0];
    if (point !== undefined && before !== undefined && differ(before, point)) points.push(point);
  }
  return points;
}

function differ(a: readonly RawValue[], b: readonly RawValue[]): boolean {
  return b.some((value, position) => compareRaw(a[position] ?? minKey, value) !== 0);
}
