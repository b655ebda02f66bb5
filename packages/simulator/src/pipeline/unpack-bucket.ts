import type { Doc, Value } from '../bson/value.js';
import { located } from '../query/query-error.js';
import type { RunStage } from './stage.js';

/** Which fields of measurements are wanted; undefined for all. */
type Wanted = ((name: string) => boolean) | undefined;

/** `$_internalUnpackBucket`: the measurements of a time-series collection's buckets. */
export function compileUnpackBucket(operand: Value): RunStage {
  if (!(operand instanceof Map)) throw located(5346500, '$_internalUnpackBucket specification must be an object');
  const timeField = operand.get('timeField');
  const metaField = operand.get('metaField');
  if (typeof timeField !== 'string')
    throw located(5346508, 'The $_internalUnpackBucket stage requires a timeField parameter');
  const wanted = wantedFields(operand);
  return function* (buckets) {
    for (const bucket of buckets)
      yield* measurements(bucket, timeField, typeof metaField === 'string' ? metaField : undefined, wanted);
  };
}

function wantedFields(operand: Doc): Wanted {
  const include = operand.get('include');
  const exclude = operand.get('exclude');
  if (Array.isArray(include)) return (name) => include.includes(name);
  if (!Array.isArray(exclude) || exclude.length === 0) return undefined;
  return (name) => !exclude.includes(name);
}

/** The time first, then the metadata, then the other columns in their order. */
function* measurements(bucket: Doc, timeField: string, metaField: string | undefined, wanted: Wanted): Generator<Doc> {
  const data = bucket.get('data');
  if (!(data instanceof Map)) throw located(5346510, 'The $_internalUnpackBucket stage requires a data region');
  const times = data.get(timeField);
  if (!(times instanceof Map))
    throw located(5346704, 'The $_internalUnpackBucket stage requires the data region to have a timeField object');
  const meta = bucket.get('meta');
  const shows = (name: string): boolean => wanted === undefined || wanted(name);
  const columns = [...data].filter(([name]) => name !== timeField && shows(name));
  for (const [row, time] of times) {
    const measurement: Doc = new Map();
    if (shows(timeField)) measurement.set(timeField, time);
    if (metaField !== undefined && meta !== undefined && shows(metaField)) measurement.set(metaField, meta);
    for (const [name, column] of columns) {
      const value = column instanceof Map ? column.get(row) : undefined;
      if (value !== undefined) measurement.set(name, value);
    }
    yield measurement;
  }
}
