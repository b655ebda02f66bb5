import type { Binary } from 'mongodb';
import { evenBounds } from '../bson/even-bounds.js';
import type { RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/stored-value.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { sampleIdsIfGiven } from '../cluster/sample-ids.js';
import type { CatalogEntry } from './namespace.js';

/** Below this a collection is one share's alone: dividing it would cost more than it gains. */
const dividedBytesMin = 16 * 1024 * 1024;
/** Samples per share: evens out the ranges. */
const samplesPerTask = 32;

/**
 * `_id`s at which the shares of a collection end and the next begin, where several instances read one collection through
 * a router, from a random sample. All instances have to have the same ones: they are found once and stored.
 * @returns none when the collection is to stay with one share: it is small, capped, or its `_id`s cannot be compared here
 */
export async function sampleTaskBounds(
  source: ClusterClient,
  entry: CatalogEntry,
  signal: AbortSignal,
): Promise<Binary[]> {
  const tasks = source.shardIds.length;
  const isDivided =
    entry.type === 'collection' &&
    tasks > 1 &&
    entry.sizeBytes >= dividedBytesMin &&
    entry.options.capped !== true &&
    !isCollated(entry);
  if (!isDivided) return [];
  const sample = await sampleIdsIfGiven(source.router, entry, tasks * samplesPerTask, signal);
  return evenBounds(sample, tasks).map(storedValue);
}

/** Whether the `_id` index of a collection has another collation than the simple one. */
export function isCollated(entry: CatalogEntry): boolean {
  const collation = entry.options.collation as { locale?: string } | undefined;
  return collation !== undefined && collation.locale !== 'simple';
}

/** The `_id`s that `sampleTaskBounds` has chosen, as they were stored with the entry. */
export function taskBoundsOf(entry: CatalogEntry): RawValue[] {
  return (entry.taskBounds ?? []).map(restoredValue);
}
