import type { Namespace } from './node-client.js';

/**
 * A time series `X` is a view over `system.buckets.X`, whose documents are all that there is of it: each bucket holds
 * measurements of one meta value and a span of time. Convoy copies and follows the buckets as documents, and changes
 * definitions under the name that users know.
 */
const bucketsPrefix = 'system.buckets.';

/** The name of the time series whose buckets a collection has; null for any other collection. */
export function seriesOf(collection: string): string | null {
  return collection.startsWith(bucketsPrefix) ? collection.slice(bucketsPrefix.length) : null;
}

/** The name of the collection that has the buckets of a time series. */
export function bucketsOf(series: string): string {
  return `${bucketsPrefix}${series}`;
}

/** The name that users know, and that commands about definitions take. */
export function userName(collection: string): string {
  return seriesOf(collection) ?? collection;
}

/** A full name as users know it. */
export function shownName({ database, name }: Namespace): string {
  return `${database}.${userName(name)}`;
}

/**
 * Time series are migrated from this release on: before, no change stream of a cluster shows their buckets (8.0 source,
 * `kRegexAllCollectionsShowSystemEvents`; 5.0.7 recorded).
 */
export const seriesRelease = 6;

/** The names under which something is in the way of a collection: a time series also takes the name of its users. */
export function namesInTheWay(collection: string): readonly string[] {
  const series = seriesOf(collection);
  return series === null ? [collection] : [collection, series];
}
