import { Binary, Int32, ObjectId } from 'bson';
import { randomBytes } from 'node:crypto';
import type { Collation } from '../bson/collation.js';
import { compareValues, typeRank } from '../bson/compare.js';
import { DateTime, type Doc, type Value } from '../bson/value.js';
import { doc, docOrEmpty, isTrue, numberOf } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import { roundedDown, type TimeSeries } from './bucketing.js';
import { columnSubtype, ColumnWriter, decodeColumn } from './column.js';

/** The forms of a bucket: open columns; compressed ones in the order of time; compressed ones in any order. */
type BucketVersion = 1 | 2 | 3;

/** A bucket whose measurements are taken apart by field. */
export interface Bucket {
  readonly id: ObjectId;
  readonly version: BucketVersion;
  readonly min: Doc;
  readonly max: Doc;
  /** True for one that takes no more measurements (`control.closed`). */
  readonly closed: boolean;
  /** Undefined for measurements without the field of metadata. */
  readonly meta: Value | undefined;
  readonly count: number;
  /** By field, each with as many values as there are measurements. */
  readonly columns: ReadonlyMap<string, Values>;
}

/** What buckets of a collection have in common. */
export interface BucketRules {
  readonly series: TimeSeries;
  readonly collation: Collation | undefined;
}

/** Takes the document of a bucket apart. @throws CommandError 115 for columns of other writers */
export function readBucket(document: Doc, { timeField }: Pick<TimeSeries, 'timeField'>): Bucket {
  const control = docOrEmpty(document.get('control'));
  const data = docOrEmpty(document.get('data'));
  const times = data.get(timeField);
  const rows = times instanceof Map ? [...times.keys()] : undefined;
  const columns = new Map([...data].map(([name, column]) => [name, columnOf(column, rows)]));
  const version = numberOf(control.get('version')) ?? 1;
  return {
    id: document.get('_id') as ObjectId,
    version: version === 2 || version === 3 ? version : 1,
    min: docOrEmpty(control.get('min')),
    max: docOrEmpty(control.get('max')),
    closed: isTrue(control.get('closed')),
    meta: document.get('meta'),
    count: columns.get(timeField)?.length ?? 0,
    columns,
  };
}

/** @param rows names of the measurements where columns are open */
function columnOf(column: Value, rows: readonly string[] | undefined): (Value | undefined)[] {
  if (column instanceof Binary && column.sub_type === columnSubtype) return decodeColumn(column.value());
  const open = docOrEmpty(column);
  return (rows ?? []).map((row) => open.get(row));
}

/** The document of a bucket. */
export function bucketDocument({ id, version, min, max, closed, meta, count, columns }: Bucket): Doc {
  const control = doc(['version', new Int32(version)], ['min', min], ['max', max]);
  if (closed) control.set('closed', true);
  if (version > 1) control.set('count', new Int32(count));
  const data: Doc = new Map([...columns].map(([name, values]) => [name, storedColumn(version, values)]));
  const head: Doc = doc(['_id', id], ['control', control]);
  if (meta !== undefined) head.set('meta', meta);
  return head.set('data', data);
}

type Values = readonly (Value | undefined)[];

/** A column as it is stored, which grows with its values. */
class StoredColumn {
  #count = 0;
  readonly #open: Doc = new Map();
  readonly #packed = new ColumnWriter();

  constructor(private readonly isPacked: boolean) {}

  fits(version: BucketVersion): boolean {
    return this.isPacked === version > 1;
  }

  /** @param values those that it has, and further ones */
  grownTo(values: Values): Value {
    for (; this.#count < values.length; this.#count += 1) {
      const value = values[this.#count];
      if (this.isPacked) this.#packed.add(value);
      else if (value !== undefined) this.#open.set(String(this.#count), value);
    }
    return this.isPacked ? new Binary(this.#packed.bytes(), columnSubtype) : this.#open;
  }
}

/** The stored columns of values, and of which values others have grown: a bucket grows by few at a time. */
const storedColumns = new WeakMap<Values, StoredColumn>();
const grownFrom = new WeakMap<Values, Values>();

function storedColumn(version: BucketVersion, values: Values): Value {
  const before = grownFrom.get(values) ?? values;
  const known = storedColumns.get(values) ?? storedColumns.get(before);
  const column = known?.fits(version) === true ? known : new StoredColumn(version > 1);
  storedColumns.delete(before);
  storedColumns.set(values, column);
  return column.grownTo(values);
}

/** The measurements of a bucket: time and metadata first, as servers show them. */
export function measurementsOf({ columns, count, meta }: Bucket, { timeField, metaField }: TimeSeries): Doc[] {
  return Array.from({ length: count }, (_, row) => {
    const measurement: Doc = new Map();
    const time = columns.get(timeField)?.[row];
    if (time !== undefined) measurement.set(timeField, time);
    if (metaField !== undefined && meta !== undefined) measurement.set(metaField, meta);
    for (const [name, values] of columns) {
      const value = name === timeField ? undefined : values[row];
      if (value !== undefined) measurement.set(name, value);
    }
    return measurement;
  });
}

/** The metadata of a measurement as buckets have it: fields of documents by name. Undefined for none. */
export function metadataOf(measurement: Doc, { metaField }: TimeSeries): Value | undefined {
  const meta = metaField === undefined ? undefined : measurement.get(metaField);
  return meta === undefined ? undefined : inNameOrder(meta);
}

function inNameOrder(value: Value): Value {
  if (Array.isArray(value)) return value.map(inNameOrder);
  if (!(value instanceof Map)) return value;
  return new Map([...value].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, inner]) => [name, inNameOrder(inner)]));
}

/** The time of a measurement; undefined for none, which no server takes. */
export function timeOf(measurement: Doc, { timeField }: Pick<TimeSeries, 'timeField'>): DateTime | undefined {
  const time = measurement.get(timeField);
  return time instanceof DateTime ? time : undefined;
}

/** A bucket without measurements yet, for one of this time. */
export function emptyBucket(
  { series }: BucketRules,
  time: DateTime,
  meta: Value | undefined,
  release: ServerVersion,
): Bucket {
  const first = roundedDown(series, time);
  return {
    id: bucketId(first, release),
    version: release.atLeast(8, 0) ? 2 : 1,
    min: doc([series.timeField, new DateTime(first)]),
    max: new Map(),
    closed: false,
    meta,
    count: 0,
    columns: new Map(),
  };
}

const millisecondsPerSecond = 1000n;

/** The seconds of the first time, then random bytes; before 8.0 those of the process and a counter. */
function bucketId(firstMs: bigint, release: ServerVersion): ObjectId {
  const id = Buffer.from(release.atLeast(8, 0) ? randomBytes(12) : new ObjectId().id);
  id.writeUInt32BE(Number(BigInt.asUintN(32, firstMs / millisecondsPerSecond)));
  return new ObjectId(id);
}

/** The bucket with further measurements behind those that it has. */
export function extended(bucket: Bucket, measurements: readonly Doc[], rules: BucketRules): Bucket {
  const { series, collation } = rules;
  const fields = measurements.map((each) => new Map([...each].filter(([name]) => name !== series.metaField)));
  const min: Doc = new Map(bucket.min);
  const max: Doc = new Map(bucket.max);
  for (const [name, value] of fields.flatMap((each) => [...each])) {
    if (name !== series.timeField || !min.has(name)) min.set(name, extreme(min.get(name), value, -1, collation));
    max.set(name, extreme(max.get(name), value, 1, collation));
  }
  const names = new Set([...bucket.columns.keys(), ...fields.flatMap((each) => [...each.keys()])]);
  const columns = new Map(
    [...names].map((name) => {
      const before: Values = bucket.columns.get(name) ?? Array.from({ length: bucket.count }, () => undefined);
      const after: Values = [...before, ...fields.map((each) => each.get(name))];
      grownFrom.set(after, before);
      return [name, after];
    }),
  );
  return {
    ...bucket,
    version: bucket.version === 2 && !isAscending(columns.get(series.timeField), bucket.count) ? 3 : bucket.version,
    min: inOrderOf(min, bucket.count === 0 ? [...names] : []),
    max,
    count: bucket.count + measurements.length,
    columns: bucket.version > 1 && bucket.count === 0 ? timeLast(columns, series) : columns,
  };
}

/** The least values and the count of a bucket with a further measurement, whose columns stay as they are. */
export function counted(bucket: Bucket, measurement: Doc, { series, collation }: BucketRules): Bucket {
  const min = new Map(bucket.min);
  for (const [name, value] of measurement)
    if (name !== series.metaField && (name !== series.timeField || !min.has(name)))
      min.set(name, extreme(min.get(name), value, -1, collation));
  return { ...bucket, min, count: bucket.count + 1 };
}

/** The first measurement of a new bucket decides the order of fields. */
function inOrderOf(fields: Doc, names: readonly string[]): Doc {
  const ordered: Doc = new Map();
  for (const name of [...names, ...fields.keys()]) {
    const value = fields.get(name);
    if (value !== undefined) ordered.set(name, value);
  }
  return ordered;
}

function timeLast<T>(columns: ReadonlyMap<string, T>, { timeField }: TimeSeries): Map<string, T> {
  const isTime = ([name]: readonly [string, T]): boolean => name === timeField;
  return new Map([...[...columns].filter((each) => !isTime(each)), ...[...columns].filter(isTime)]);
}

/** The lesser or greater of two values: of documents and arrays, part by part. @param direction 1 for the greater */
function extreme(known: Value | undefined, value: Value, direction: 1 | -1, collation: Collation | undefined): Value {
  if (known === undefined) return value;
  if (known instanceof Map && value instanceof Map) {
    const merged: Doc = new Map(known);
    for (const [name, inner] of value) merged.set(name, extreme(known.get(name), inner, direction, collation));
    return merged;
  }
  if (Array.isArray(known) && Array.isArray(value)) {
    const longer = known.length > value.length ? known : value;
    return longer.map((each, at) => {
      const [one, other] = [known[at], value[at]];
      return one === undefined || other === undefined ? each : extreme(one, other, direction, collation);
    });
  }
  return compareValues(value, known, collation) * direction > 0 ? value : known;
}

/** Whether the times from a row on do not lie before the one ahead of them. */
function isAscending(times: Values = [], from: number): boolean {
  return times.slice(from).every((time, at) => {
    const before = times[from + at - 1];
    return before === undefined || time === undefined || compareValues(before, time) <= 0;
  });
}

/** The compressed form: in the order of time. Before 8.0 the times come first. */
export function compressed(bucket: Bucket, { series }: BucketRules, release: ServerVersion): Bucket {
  const times = bucket.columns.get(series.timeField) ?? [];
  const order = [...times.keys()].sort((a, b) => compareValues(times[a] ?? null, times[b] ?? null));
  const sorted = new Map([...bucket.columns].map(([name, values]) => [name, order.map((row) => values[row])]));
  const isFirst = ([name]: readonly [string, unknown]): boolean => name === series.timeField;
  const columns = release.atLeast(8, 0)
    ? timeLast(sorted, series)
    : new Map([...[...sorted].filter(isFirst), ...[...sorted].filter((each) => !isFirst(each))]);
  return { ...bucket, version: 2, columns };
}

/** The bucket with these measurements alone. It keeps its identity and first time. */
export function reduced(bucket: Bucket, rest: readonly Doc[], rules: BucketRules, release: ServerVersion): Bucket {
  const { timeField } = rules.series;
  const first = bucket.min.get(timeField);
  const min: Doc = first === undefined ? doc() : doc([timeField, first]);
  const empty: Bucket = { ...bucket, version: 1, min, max: new Map(), count: 0, columns: new Map() };
  const whole = extended(empty, rest, rules);
  return release.atLeast(6, 0) ? compressed(whole, rules, release) : whole;
}

/** Whether two values of one field do not go together since 5.2, because their types differ in some part. */
function mix(a: Value, b: Value): boolean {
  if (typeRank(a) !== typeRank(b)) return true;
  if (a instanceof Map && b instanceof Map)
    return [...a].some(([name, inner]) => {
      const other = b.get(name);
      return other !== undefined && mix(inner, other);
    });
  if (Array.isArray(a) && Array.isArray(b)) return a.some((inner, at) => b[at] !== undefined && mix(inner, b[at]));
  return false;
}

/** Whether a bucket has values of different types in one field, as only releases before 5.2 write them. */
export function hasMixedSchema(document: Doc): boolean {
  const control = docOrEmpty(document.get('control'));
  return mix(docOrEmpty(control.get('min')), docOrEmpty(control.get('max')));
}

/** Whether a measurement has fields of other types than those of the bucket. */
export function changesSchema(bucket: Bucket, measurement: Doc, { series }: BucketRules): boolean {
  return [...measurement].some(([name, value]) => {
    const known = name === series.metaField ? undefined : bucket.min.get(name);
    return known !== undefined && mix(known, value);
  });
}
