import { Long, ObjectId, Timestamp } from 'bson';
import type { Value } from '../bson/value.js';
import { type Chunk, ChunkMap } from './chunk-map.js';
import { compareKeys, type KeyValues, type ShardKeyPattern } from './shard-key.js';
import { type ZoneRange, zoneMax, zoneMin } from './zone.js';

interface Placement {
  readonly min: KeyValues;
  readonly max: KeyValues;
  readonly shard: string;
}

/** Everything that decides where the first chunks of a collection go. */
export interface InitialDistribution {
  readonly pattern: ShardKeyPattern;
  readonly empty: boolean;
  readonly primary: string;
  /** Ids of all shards. */
  readonly shards: readonly string[];
  readonly zones: readonly ZoneRange[];
  readonly shardsOfZone: (zone: string) => readonly string[];
  /** As requested. Undefined takes `chunksPerShard` for each shard. */
  readonly chunkCount: number | undefined;
  /** Two until 7.1, one since (SERVER-76405). */
  readonly chunksPerShard: number;
  readonly time: Timestamp;
  /** Whether the last chunk holds a key of MaxKey alone, as since 8.0. */
  readonly holdsMaxKey?: boolean;
}

/** The first chunks of a collection: by zones, by an even split of the hashes, or one on the primary shard. */
export function initialChunks(distribution: InitialDistribution): ChunkMap {
  const placements = placementsOf(distribution);
  const chunks = placements.map((placement, index) => firstChunk(placement, index, distribution.time));
  return new ChunkMap(chunks, distribution.holdsMaxKey);
}

function placementsOf(distribution: InitialDistribution): Placement[] {
  const { pattern, empty, primary, zones } = distribution;
  if (empty && zones.length > 0) return placedByZones(distribution);
  if (empty && pattern.hashedFirst) return placedByHashes(distribution);
  return [{ min: pattern.globalMin, max: pattern.globalMax, shard: primary }];
}

function firstChunk(placement: Placement, index: number, time: Timestamp): Chunk {
  return {
    id: new ObjectId(),
    ...placement,
    version: new Timestamp({ t: 1, i: index }),
    history: [{ shard: placement.shard, validAfter: time }],
  };
}

/**
 * One chunk for each zone range on a shard of its zone, gaps in turn on all shards (corpus: 10-initial-distribution).
 */
function placedByZones({ pattern, zones, shards, shardsOfZone }: InitialDistribution): Placement[] {
  const placements: Placement[] = [];
  const turns = new Map<string, number>();
  const inTurn = (key: string, candidates: readonly string[]): string => {
    const turn = turns.get(key) ?? 0;
    turns.set(key, turn + 1);
    return candidates[turn % candidates.length] ?? '';
  };
  let reached: KeyValues = pattern.globalMin;
  for (const zone of [...zones].sort((a, b) => compareKeys(zoneMin(a), zoneMin(b)))) {
    const min = pattern.boundFrom(zone.minDocument);
    const max = pattern.boundFrom(zone.maxDocument);
    if (compareKeys(reached, min) < 0) placements.push({ min: reached, max: min, shard: inTurn('', shards) });
    placements.push({ min, max, shard: inTurn(`zone ${zone.zone}`, shardsOfZone(zone.zone)) });
    reached = zoneMax(zone).length === pattern.fields.length ? zoneMax(zone) : max;
  }
  if (compareKeys(reached, pattern.globalMax) < 0)
    placements.push({ min: reached, max: pattern.globalMax, shard: inTurn('', shards) });
  return placements;
}

/** Even ranges of hashes, neighbouring ones on the same shard (corpus: 02-catalog, `appdb.hashed`). */
function placedByHashes({ pattern, shards, chunkCount, chunksPerShard }: InitialDistribution): Placement[] {
  const count = Math.max(chunkCount ?? shards.length * chunksPerShard, 1);
  const bounds = hashSplitPoints(count).map((point) => [point, ...pattern.globalMin.slice(1)]);
  const perShard = Math.max(Math.floor(count / shards.length), 1);
  const edges: Value[][] = [pattern.globalMin, ...bounds, pattern.globalMax];
  return edges.slice(0, -1).map((min, index) => ({
    min,
    max: edges[index + 1] ?? pattern.globalMax,
    shard: shards[Math.floor(index / perShard) % shards.length] ?? '',
  }));
}

/** Bounds between `count` chunks, symmetric around 0. */
function hashSplitPoints(count: number): Long[] {
  const interval = Long.MAX_VALUE.div(count).mul(2);
  const points: Long[] = [];
  let current = Long.ZERO;
  if (count % 2 === 0) {
    points.push(current);
    current = current.add(interval);
  } else {
    current = current.add(interval.div(2));
  }
  for (let pair = 0; pair < Math.floor((count - 1) / 2); pair += 1) {
    points.push(current, current.neg());
    current = current.add(interval);
  }
  return points.sort((a, b) => a.comp(b));
}

/**
 * Chunks of about equally many documents each, neighbours on the same shard.
 * @param keys shard keys of all documents, in any order
 * @param count chunks at most; fewer when there are fewer different keys
 */
export function evenChunks(
  pattern: ShardKeyPattern,
  keys: readonly KeyValues[],
  count: number,
  shards: readonly string[],
  time: Timestamp,
  holdsMaxKey = false,
): ChunkMap {
  const bounds = splitPoints(keys, Math.max(count, 1)).filter((bound) => compareKeys(bound, pattern.globalMin) > 0);
  const edges = [pattern.globalMin, ...bounds, pattern.globalMax];
  const chunks = edges.slice(0, -1).map((min, index): Chunk => {
    const shard = shards[Math.floor((index * shards.length) / (edges.length - 1))] ?? '';
    return {
      id: new ObjectId(),
      min,
      max: edges[index + 1] ?? pattern.globalMax,
      shard,
      version: new Timestamp({ t: 1, i: index }),
      history: [{ shard, validAfter: time }],
    };
  });
  return new ChunkMap(chunks, holdsMaxKey);
}

/** Different keys that divide the sorted ones into `count` parts. */
function splitPoints(keys: readonly KeyValues[], count: number): KeyValues[] {
  const sorted = [...keys].sort(compareKeys);
  const points: KeyValues[] = [];
  for (let part = 1; part < count; part += 1) {
    const key = sorted[Math.floor((part * sorted.length) / count)];
    const last = points[points.length - 1] ?? sorted[0];
    if (key !== undefined && last !== undefined && compareKeys(key, last) > 0) points.push(key);
  }
  return points;
}

/** The multiplier and the modulus of the generator `minstd_rand0`. */
const multiplier = 16_807;
const modulus = 2_147_483_647;

/**
 * The order in which 8.0 gives the first chunks to shards: shuffled by a generator that always begins with the same
 * seed (server source: `initial_split_policy.cpp`; the steps are those of `std::shuffle` of libstdc++).
 */
export function shuffledShards(shards: readonly string[]): string[] {
  const order = [...shards];
  let state = 1;
  const below = (count: number): number => {
    const scaling = Math.floor((modulus - 2) / count);
    for (;;) {
      state = (state * multiplier) % modulus;
      if (state - 1 < count * scaling) return Math.floor((state - 1) / scaling);
    }
  };
  const swap = (at: number, other: number): void => {
    [order[at], order[other]] = [order[other] ?? '', order[at] ?? ''];
  };
  let at = 1;
  if (order.length > 1 && order.length % 2 === 0) {
    swap(1, below(2));
    at = 2;
  }
  for (; at < order.length; at += 2) {
    const pair = below((at + 1) * (at + 2));
    swap(at, Math.floor(pair / (at + 2)));
    if (at + 1 < order.length) swap(at + 1, pair % (at + 2));
  }
  return order;
}
