import type { Chunk } from '../../config/chunk-map.js';
import { compareKeys, type KeyValues } from '../../config/shard-key.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { type ZoneRange, zoneMin } from '../../config/zone.js';

/** Why the balancer moves a chunk, in the words of `balancerCollectionStatus`. */
type ViolationKind = 'draining' | 'zoneViolation' | 'chunksImbalance';

/** A move that brings a collection closer to balance. */
interface PlannedMove {
  readonly chunk: Chunk;
  readonly to: string;
  readonly reason: ViolationKind;
}

/** A shard as the balancer sees it. */
export interface BalancedShard {
  readonly id: string;
  readonly draining: boolean;
  readonly zones: ReadonlySet<string>;
  /** Bytes of the collection on it. */
  readonly bytes: number;
}

export interface BalancedCollection {
  readonly collection: ShardedCollection;
  readonly shards: readonly BalancedShard[];
  readonly zones: readonly ZoneRange[];
  /** Since 6.0 the balancer evens out bytes, before that chunks. Undefined for chunks, else the bytes of a range. */
  readonly rangeBytes: number | undefined;
}

/** Ranges by which the fullest and the emptiest shard may differ (manual: "Migration Thresholds", 6.0). */
const rangesApartMax = 3;

/**
 * The moves of one round for one collection: off draining shards first, then into zones, then for evenness. Each shard
 * takes part in one move at most; jumbo chunks stay (server source: balancer policy).
 */
export function planMoves(balanced: BalancedCollection): PlannedMove[] {
  const used = new Set<string>();
  const moves: PlannedMove[] = [];
  const take = (move: PlannedMove | undefined): boolean => {
    if (move === undefined || used.has(move.chunk.shard) || used.has(move.to)) return false;
    moves.push(move);
    used.add(move.chunk.shard).add(move.to);
    return true;
  };
  for (const move of drainingMoves(balanced)) take(move);
  for (const move of zoneMoves(balanced)) take(move);
  const names = new Set([...balanced.zones.map(({ zone }) => zone), '']);
  for (const zone of names) take(evenMove(balanced, zone, used));
  return moves;
}

function* drainingMoves(balanced: BalancedCollection): Generator<PlannedMove | undefined> {
  const leaving = new Set(balanced.shards.filter((shard) => shard.draining).map((shard) => shard.id));
  for (const chunk of movable(balanced)) if (leaving.has(chunk.shard)) yield toLeastLoaded(balanced, chunk, 'draining');
}

function* zoneMoves(balanced: BalancedCollection): Generator<PlannedMove | undefined> {
  for (const chunk of movable(balanced)) {
    const zone = zoneOf(balanced, chunk);
    const owner = balanced.shards.find((shard) => shard.id === chunk.shard);
    if (zone !== '' && owner?.zones.has(zone) === false) yield toLeastLoaded(balanced, chunk, 'zoneViolation');
  }
}

function evenMove(balanced: BalancedCollection, zone: string, used: ReadonlySet<string>): PlannedMove | undefined {
  const candidates = receivers(balanced, zone);
  const loads = candidates
    .map((shard) => ({ shard, load: loadOf(balanced, shard, zone) }))
    .sort((a, b) => a.load - b.load);
  const least = loads.find(({ shard }) => !used.has(shard.id));
  const most = [...loads].reverse().find(({ shard }) => !used.has(shard.id));
  if (least === undefined || most === undefined || least === most) return undefined;
  if (!isApart(balanced, zone, candidates.length, least.load, most.load)) return undefined;
  const chunk = movable(balanced).find((each) => each.shard === most.shard.id && zoneOf(balanced, each) === zone);
  return chunk === undefined ? undefined : { chunk, to: least.shard.id, reason: 'chunksImbalance' };
}

/**
 * By chunks: the fullest shard has at least one above the average, and the emptiest fewer than the average. By bytes:
 * three ranges.
 */
function isApart(balanced: BalancedCollection, zone: string, shards: number, least: number, most: number): boolean {
  if (balanced.rangeBytes !== undefined) return most - least >= rangesApartMax * balanced.rangeBytes;
  const total = balanced.collection.chunks.chunks.filter((chunk) => zoneOf(balanced, chunk) === zone).length;
  const fraction = Math.round(total / shards);
  return most > fraction && least < fraction;
}

function toLeastLoaded(balanced: BalancedCollection, chunk: Chunk, reason: ViolationKind): PlannedMove | undefined {
  const zone = zoneOf(balanced, chunk);
  const [least] = receivers(balanced, zone)
    .filter((shard) => shard.id !== chunk.shard)
    .map((shard) => ({ shard, load: loadOf(balanced, shard, zone) }))
    .sort((a, b) => a.load - b.load);
  return least === undefined ? undefined : { chunk, to: least.shard.id, reason };
}

function receivers({ shards }: BalancedCollection, zone: string): BalancedShard[] {
  return shards.filter((shard) => !shard.draining && (zone === '' || shard.zones.has(zone)));
}

function loadOf(balanced: BalancedCollection, shard: BalancedShard, zone: string): number {
  if (balanced.rangeBytes !== undefined) return shard.bytes;
  return balanced.collection.chunks.chunks.filter(
    (chunk) => chunk.shard === shard.id && zoneOf(balanced, chunk) === zone,
  ).length;
}

function movable({ collection }: BalancedCollection): Chunk[] {
  return collection.chunks.chunks.filter((chunk) => chunk.jumbo !== true);
}

/** The zone that holds the whole chunk. Empty for none. */
function zoneOf({ collection, zones }: BalancedCollection, chunk: Chunk): string {
  const zone = zones.find((each) => {
    const [min, max] = zoneKeys(collection, each);
    return compareKeys(min, chunk.min) <= 0 && compareKeys(chunk.max, max) <= 0;
  });
  return zone?.zone ?? '';
}

/** Bounds of zones inside chunks: the balancer splits there before it moves. */
export function zoneSplits(
  collection: ShardedCollection,
  zones: readonly ZoneRange[],
): { chunk: Chunk; at: KeyValues }[] {
  const bounds = zones.flatMap((zone) => [...zoneKeys(collection, zone)]);
  return bounds.flatMap((at) => {
    if (compareKeys(at, collection.key.globalMin) === 0 || compareKeys(at, collection.key.globalMax) === 0) return [];
    const chunk = collection.chunks.find(at);
    return compareKeys(chunk.min, at) === 0 ? [] : [{ chunk, at }];
  });
}

function zoneKeys(collection: ShardedCollection, zone: ZoneRange): readonly [KeyValues, KeyValues] {
  const min = zoneMin(zone).length === 0 ? collection.key.globalMin : collection.key.boundFrom(zone.minDocument);
  return [min, collection.key.boundFrom(zone.maxDocument)];
}
