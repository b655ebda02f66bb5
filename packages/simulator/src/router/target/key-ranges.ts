import { MaxKey, MinKey } from 'bson';
import { hashShardKeyValue } from '../../bson/hash.js';
import type { Value } from '../../bson/value.js';
import type { KeyValues, ShardKeyPattern } from '../../config/shard-key.js';
import { boundsOf } from './filter-bounds.js';
import { isPoint, type Interval } from './value-intervals.js';

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
export function keyRanges(
  key: ShardKeyPattern,
  bounds: ReadonlyMap<string, readonly Interval[]>,
): ShardKeyRange[] | undefined {
  const [leading] = key.fields;
  if (leading === undefined || !bounds.has(leading)) return undefined;
  const fields = key.fields.map((field) => boundsOf(bounds, field));
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
