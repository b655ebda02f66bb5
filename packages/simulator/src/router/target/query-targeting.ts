import type { ShardedCollection } from '../../config/sharded-collection.js';
import type { ShardKeyPattern, KeyValues } from '../../config/shard-key.js';
import type { ChunkMap } from '../../config/chunk-map.js';
import { isStorableKey } from '../../config/storable-key.js';
import { equalityFields } from '../../query/bounds.js';
import { DateTime, type Doc, type Value } from '../../bson/value.js';
import { Binary, Double, Int32, Long, ObjectId, Timestamp, MaxKey, MinKey } from 'bson';
import { hashShardKeyValue } from '../../bson/hash.js';
import { docOf } from '../../node/doc-fields.js';
import { exactValues } from './exact-values.js';
import { filterBounds, intervalsOf } from './filter-bounds.js';
import { isPoint, type Interval } from './value-intervals.js';

/** What a query's filter states about the place of its documents. */
export interface QueryTarget {
  readonly shards: readonly string[];
  /** True when the filter fixes the whole shard key. */
  readonly exactKey: boolean;
}

/**
 * The shards that can hold documents of a filter: the owner of the key that it fixes, or the owners of every chunk
 * within its bounds on the shard key's leading fields.
 * @param collation of the command; strings compared under a collation other than simple mean nothing for the shard key
 * @param chunks owners to use: the current ones, unless the read is at a time
 */
export function targetQuery(
  collection: ShardedCollection,
  filter: Doc,
  collation: Value | undefined,
  chunks: ChunkMap = collection.chunks,
): QueryTarget {
  const simple = isSimple(collection, collation);
  const values = fixedValues(collection, filter, simple);
  const key = collection.key.fields.every((field) => isExact(values.get(field) ?? null))
    ? collection.key.keyFrom(values)
    : undefined;
  const holder = key === undefined ? undefined : chunks.holderOf(key);
  if (holder !== undefined) return { shards: [holder], exactKey: true };
  return { shards: shardsInBounds(collection.key, filter, simple, chunks), exactKey: false };
}

/** False for values that no query states exactly, as on the server (extractShardKeyFromQuery). */
function isExact(value: Value): boolean {
  return !Array.isArray(value) && isStorableKey(value);
}

/** At least one shard: that of the lowest chunk answers for a filter that nothing can match, as on the server. */
function shardsInBounds(key: ShardKeyPattern, filter: Doc, simple: boolean, chunks: ChunkMap): readonly string[] {
  const ranges =
    chunks.shards.length === 1 ? undefined : keyRanges(key, filterBounds(filter, simple, key.fields[key.hashedIndex]));
  if (ranges === undefined) return chunks.shards;
  const shards = new Set<string>();
  for (const { min, max } of ranges) {
    // Seen on 8.0.10, whose last chunk holds such a key.
    if (min.every((value) => value instanceof MaxKey)) continue;
    for (const chunk of chunks.touching(min, max)) shards.add(chunk.shard);
    if (shards.size === chunks.shards.length) return chunks.shards;
  }
  return shards.size === 0 ? chunks.chunks.slice(0, 1).map((chunk) => chunk.shard) : [...shards].sort();
}

function isSimple(collection: ShardedCollection, collation: Value | undefined): boolean {
  const asked = docOf(collation);
  return asked === undefined ? collection.defaultCollation === undefined : asked.get('locale') === 'simple';
}

function fixedValues(collection: ShardedCollection, filter: Doc, simple: boolean): ReadonlyMap<string, Value> {
  const { fields } = collection.key;
  if (fields.every((field) => isPlain(filter.get(field), simple) && !field.startsWith('_id.'))) return filter;
  const values = exactValues(equalityFields(filter), fields) ?? new Map<string, Value>();
  if (simple) return values;
  return new Map([...values].filter(([, value]) => isPlain(value, false)));
}

/** True for values that can only mean equality, so that the filter needs no analysis. */
function isPlain(value: Value | undefined, simple: boolean): boolean {
  return (
    value instanceof ObjectId ||
    value instanceof Int32 ||
    value instanceof Long ||
    value instanceof Double ||
    value instanceof Binary ||
    value instanceof DateTime ||
    value instanceof Timestamp ||
    typeof value === 'boolean' ||
    (simple && typeof value === 'string')
  );
}

/** Shard keys from `min` to `max`, both included. */
interface ShardKeyRange {
  readonly min: KeyValues;
  readonly max: KeyValues;
}

/**
 * The ranges of whole shard keys that bounds of single fields allow. As on the server, open ends count as closed. After
 * the first field with more than one value, every further field only contributes its first and last value (server
 * source: flattenBounds).
 * @returns undefined when the leading field is not bound, so that nothing is narrowed; an empty list when nothing can
 * match
 */
function keyRanges(
  key: ShardKeyPattern,
  bounds: ReadonlyMap<string, readonly Interval[]>,
): ShardKeyRange[] | undefined {
  const [leading] = key.fields;
  if (leading === undefined || !bounds.has(leading)) return undefined;
  const fields = key.fields.map((field) => intervalsOf(bounds, field));
  if (fields.some((intervals) => intervals.length === 0)) return [];
  let ranges: ShardKeyRange[] = [{ min: [], max: [] }];
  let pointsOnly = true;
  for (const [at, given] of fields.entries()) {
    const intervals = at === key.hashedIndex ? hashed(given) : given;
    const [first] = intervals;
    const taken = pointsOnly ? intervals : [outline(intervals)];
    ranges = ranges.flatMap((range) => taken.map((interval) => extended(range, interval)));
    pointsOnly &&= intervals.length === 1 && first !== undefined && isPoint(first);
  }
  return ranges;
}

function extended(range: ShardKeyRange, { from, to }: Interval): ShardKeyRange {
  return { min: [...range.min, from.value], max: [...range.max, to.value] };
}

/** Hashes do not keep the order of their values: only points can be used. */
function hashed(intervals: readonly Interval[]): readonly Interval[] {
  if (!intervals.every(isPoint))
    return [{ from: { value: new MinKey(), inclusive: true }, to: { value: new MaxKey(), inclusive: true } }];
  return intervals.map(({ from }) => {
    const value: Value = hashShardKeyValue(from.value);
    return { from: { value, inclusive: true }, to: { value, inclusive: true } };
  });
}

function outline(intervals: readonly Interval[]): Interval {
  const first = intervals[0] as Interval;
  return { from: first.from, to: (intervals.at(-1) ?? first).to };
}
