import { BSON } from 'mongodb';
import type { Document } from 'mongodb';
import { ownershipRanges } from '../chunk-ranges.js';
import type { Catalog, CatalogEntry, Chunk } from '../namespace.js';

/** A range of a collection's shard key and the destination shard that shall own it. */
export interface DestinationRange {
  min: Document;
  max: Document;
  shard: string;
}

/**
 * A range costs two router commands of about 10 ms. Beyond this count (some 40 s a collection) chunks that lie beside
 * each other on one shard are placed as one.
 */
const RANGES_KEPT_MAX = 2_000;

/**
 * Lays the ranges of a sharded collection onto the destination's shards. With as many shards on both sides every range
 * goes to the shard at the same place in the sorted lists; otherwise ranges are dealt out contiguously in equal counts;
 * fewer ranges than shards on a key that begins hashed: the hash space is split evenly.
 * @param chunks the source's, in order, without gaps; empty when the source is not sharded
 * @returns in order, without gaps; empty when nothing is known about a ranged key (the server then makes one chunk)
 */
export function distributeChunks(
  key: Document,
  chunks: readonly Chunk[],
  sourceShardIds: readonly string[],
  destinationShardIds: readonly string[],
): DestinationRange[] {
  const destinations = [...destinationShardIds].sort();
  const sources = [...sourceShardIds].sort();
  const kept = chunks.length > RANGES_KEPT_MAX ? ownershipRanges(chunks) : chunks;
  const placed = (chunk: Chunk, shard: string): DestinationRange => ({
    min: withHashedLongs(key, chunk.min),
    max: withHashedLongs(key, chunk.max),
    shard,
  });
  if (chunks.length > 0 && sources.length === destinations.length) {
    return kept.map((chunk) => placed(chunk, destinations[sources.indexOf(chunk.shard)] ?? shardAt(destinations, 0)));
  }
  if (chunks.length < destinations.length && beginsHashed(key)) return splitHashSpace(key, destinations);
  return chunks.map((chunk, position) => placed(chunk, shardAt(destinations, Math.floor((position * destinations.length) / chunks.length))));
}

/**
 * Gives every database its primary shard on the destination: by place in the sorted lists where there are as many
 * shards, otherwise the databases with the most unsharded data first, each to the shard that has least so far.
 */
export function distributeDatabases(
  catalog: Catalog,
  sourceShardIds: readonly string[],
  destinationShardIds: readonly string[],
): Map<string, string> {
  const destinations = [...destinationShardIds].sort();
  const sources = [...sourceShardIds].sort();
  const databases = groupByDatabase(catalog);
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
      one[1].bytes < least[1].bytes || (one[1].bytes === least[1].bytes && one[1].databases < least[1].databases) ? one : least,
    );
    load.bytes += bytes;
    load.databases += 1;
    result.set(database, shard);
  }
  return result;
}

/** Half the width of the space of hashes, which are signed 64-bit numbers. */
const HASH_SPACE_HALF = 2n ** 63n;

function splitHashSpace(key: Document, shards: readonly string[]): DestinationRange[] {
  const bound = (position: number): Document => {
    if (position === 0) return boundOf(key, new BSON.MinKey(), new BSON.MinKey());
    if (position === shards.length) return boundOf(key, new BSON.MaxKey(), new BSON.MaxKey());
    const hash = (2n * HASH_SPACE_HALF * BigInt(position)) / BigInt(shards.length) - HASH_SPACE_HALF;
    return boundOf(key, BSON.Long.fromBigInt(hash), new BSON.MinKey());
  };
  return shards.map((shard, position) => ({ min: bound(position), max: bound(position + 1), shard }));
}

function boundOf(key: Document, first: unknown, others: unknown): Document {
  return Object.fromEntries(Object.keys(key).map((field, position) => [field, position === 0 ? first : others]));
}

/** The server takes only 64-bit numbers (or MinKey and MaxKey) as bounds of a hashed field. */
function withHashedLongs(key: Document, bound: Document): Document {
  const entries = Object.entries(bound).map(([field, value]): [string, unknown] => [
    field,
    key[field] === 'hashed' && typeof value === 'number' ? BSON.Long.fromNumber(value) : value,
  ]);
  return Object.fromEntries(entries);
}

function beginsHashed(key: Document): boolean {
  return Object.values(key)[0] === 'hashed';
}

function shardAt(shards: readonly string[], position: number): string {
  const shard = shards[position];
  if (shard === undefined) throw new RangeError('a sharded destination has at least one shard');
  return shard;
}

function groupByDatabase(catalog: Catalog): Map<string, CatalogEntry[]> {
  const groups = new Map<string, CatalogEntry[]>();
  for (const entry of catalog) groups.set(entry.database, [...(groups.get(entry.database) ?? []), entry]);
  return groups;
}

/** The primary of a database: where most of its collections say it is (from 8.0 on single ones may be elsewhere). */
function commonPrimary(entries: readonly CatalogEntry[]): string {
  const counts = new Map<string, number>();
  for (const entry of entries) counts.set(entry.primaryShard, (counts.get(entry.primaryShard) ?? 0) + 1);
  return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
}

function unshardedBytes(entries: readonly CatalogEntry[]): number {
  return entries.filter((entry) => entry.sharding === null).reduce((bytes, entry) => bytes + entry.sizeBytes, 0);
}
