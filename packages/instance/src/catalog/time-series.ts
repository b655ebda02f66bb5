import type { Document } from 'mongodb';

import { type KeyPattern, withoutFields } from './namespace.js';

/** Options of buckets that a server makes itself for every time series: they are not the user's. */
const ownOfBuckets = ['validator', 'validationLevel', 'validationAction', 'clusteredIndex'] as const;

/** The options of a time series, from those that its buckets show. */
export function seriesOptions(buckets: Document): Document {
  return withoutFields(buckets, ...ownOfBuckets);
}

/**
 * The options `timeseries` in one form: a granularity stands for both numbers that releases show beside it, and
 * `create` takes either.
 */
export function portableSeries(timeseries: Document): Document {
  return timeseries.granularity === undefined
    ? timeseries
    : withoutFields(timeseries, 'bucketMaxSpanSeconds', 'bucketRoundingSeconds');
}

/** The fields of `collMod` that bring a time series to these options. Its names cannot change. */
export function seriesChange(timeseries: Document): Document {
  return withoutFields(portableSeries(timeseries), 'timeField', 'metaField');
}

/** Prefix of the field of a bucket that holds the lowest value of a field; of the time, it is part of shard keys. */
const lowestPrefix = 'control.min.';

/**
 * The shard key that `shardCollection` takes for a time series, from that of its buckets: the value that buckets have
 * in common is `meta` there, and the time is `control.min.` and its name.
 */
export function userShardKey(key: KeyPattern, { timeField, metaField }: Document): KeyPattern {
  const field = (name: string): string => {
    if (name === 'meta' || name.startsWith('meta.')) return `${String(metaField)}${name.slice('meta'.length)}`;
    return name === `${lowestPrefix}${String(timeField)}` ? String(timeField) : name;
  };
  return new Map([...key].map(([name, value]) => [field(name), value]));
}

/** The inverse: the shard key that the buckets of a time series get. */
export function bucketsShardKey(key: KeyPattern, timeseries: Document): KeyPattern {
  const field = (name: string): string => {
    if (isMeta(name, timeseries)) return `meta${name.slice(String(timeseries.metaField).length)}`;
    return name === timeseries.timeField ? `${lowestPrefix}${name}` : name;
  };
  return new Map([...key].map(([name, value]) => [field(name), value]));
}

/** Whether a field of measurements is what those of a bucket have in common, or a part of it. */
function isMeta(name: string, { metaField }: Document): boolean {
  return metaField !== undefined && (name === metaField || name.startsWith(`${String(metaField)}.`));
}

/**
 * Why servers refuse a shard key for a time series: 5914000, 880031 and 5914001 (8.0.10 source,
 * `validateTimeseriesShardKey`).
 * @param key as a user asks for it
 * @returns null for a key that they take
 */
export function seriesKeyObstacle(key: KeyPattern, timeseries: Document): string | null {
  const last = [...key.keys()].at(-1);
  for (const [field, value] of key) {
    if (field !== timeseries.timeField) {
      if (isMeta(field, timeseries)) continue;
      return `is a time series, whose shard key has its meta field and its time alone, and not ${field}`;
    }
    if (field !== last) return `is a time series, whose shard key can have its time ${field} at the end alone`;
    if (value !== 1) return `is a time series, whose shard key can have its time ${field} ascending alone`;
  }
  return null;
}

/** The field of a shard key of buckets that is a time; undefined if none is. */
export function timeOfShardKey(key: KeyPattern): string | undefined {
  return [...key.keys()].find((name) => name.startsWith(lowestPrefix));
}
