import type { Binary } from 'mongodb';
import type { RawValue } from '../bson/scan.js';
import { restoredValue, storedValue } from '../bson/sent-value.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { evenBounds, sampleIdsOrNone } from '../cluster/sample-ids.js';
import { seriesOf } from '../cluster/time-series.js';
import { isIdIndex } from './index-spec.js';
import type { CatalogEntry } from './namespace.js';

/** A collection below this size belongs to one sync task: dividing it would cost more than it gains. */
const dividedBytesMin = 16 * 1024 * 1024;
/** Samples per sync task: makes the ranges even. */
const samplesPerTask = 32;

/**
 * Samples the `_id`s that divide a collection between sync tasks, if several instances read it through a router. All
 * instances need the same bounds: one of them samples and stores them.
 * @returns none if one sync task has the whole collection: it is small, capped, or Convoy cannot compare its `_id`s
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
  const sample = await sampleIdsOrNone(source.router, entry, tasks * samplesPerTask, signal);
  return evenBounds(sample, tasks).map(storedValue);
}

/** Whether the `_id` index of a collection has a collation other than the simple one. */
export function isCollated(entry: CatalogEntry): boolean {
  const collation = entry.options.collation as { locale?: string } | undefined;
  return collation !== undefined && collation.locale !== 'simple';
}

/** Whether a collection lies in the order of `_id`, without an index for it: so do the buckets of time series. */
export function isClustered({ name, options }: Pick<CatalogEntry, 'name' | 'options'>): boolean {
  return options.clusteredIndex !== undefined || seriesOf(name) !== null;
}

/** Whether a collection cannot be read in the order of `_id` by its bytes: Convoy compares it by lookups. */
export function isUnordered(entry: CatalogEntry): boolean {
  const hasIdIndex = isClustered(entry) || entry.indexes.some(isIdIndex);
  return isCollated(entry) || !hasIdIndex;
}

/** The `_id`s that `sampleTaskBounds` chose, from the stored entry. */
export function taskBoundsOf(entry: CatalogEntry): RawValue[] {
  return (entry.taskBounds ?? []).map(restoredValue);
}
