import type { Binary } from 'mongodb';
import { evenBounds } from '../bson/even-bounds.js';
import type { RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/stored-value.js';
import type { Cluster } from '../cluster/door.js';
import { sampleIdsIfGiven } from '../cluster/sample-ids.js';
import type { CatalogEntry } from './namespace.js';

/** Below this a collection is one share's alone: dividing it would cost more than it gains. */
const dividedBytesMin = 16 * 1024 * 1024;
/** Samples per share: evens out the ranges. */
const samplesPerShare = 32;

/**
 * `_id`s at which the shares of a collection end and the next begin, where several instances read one collection through
 * a router, from a random sample. All instances have to have the same ones: they are found once and stored.
 * @returns none when the collection is to stay with one share: it is small, capped, or its `_id`s cannot be compared here
 */
export async function sampleShareBounds(source: Cluster, entry: CatalogEntry, signal: AbortSignal): Promise<Binary[]> {
  const shares = source.shardIds.length;
  const isDivided = entry.type === 'collection' && shares > 1 && entry.sizeBytes >= dividedBytesMin && entry.options.capped !== true && !isCollated(entry);
  if (!isDivided) return [];
  const sample = await sampleIdsIfGiven(source.router, entry, shares * samplesPerShare, signal);
  return evenBounds(sample, shares).map(storedValue);
}

/** Whether the `_id` index of a collection has another collation than the simple one. */
export function isCollated(entry: CatalogEntry): boolean {
  const collation = entry.options.collation as { locale?: string } | undefined;
  return collation !== undefined && collation.locale !== 'simple';
}

/** The `_id`s that `sampleShareBounds` has chosen, as they were stored with the entry. */
export function shareBoundsOf(entry: CatalogEntry): RawValue[] {
  return (entry.shareBounds ?? []).map(restoredValue);
}
