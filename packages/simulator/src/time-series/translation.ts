import { Int32 } from 'bson';
import { documentText } from '../bson/text.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { docOf, isTrue, numberOf, textOrEmpty } from '../node/doc-fields.js';
import type { ServerVersion } from '../node/server-version.js';
import { unsimulated } from '../node/unsimulated.js';
import type { TimeSeries } from './bucketing.js';

const meta = 'meta';
const minPrefix = 'control.min.';
const maxPrefix = 'control.max.';
const dataPrefix = 'data.';

/** A path in the metadata of measurements as a path of buckets. Undefined for other paths. */
export function metaPath({ metaField }: Pick<TimeSeries, 'metaField'>, path: string): string | undefined {
  if (metaField === undefined) return undefined;
  if (path === metaField) return meta;
  return path.startsWith(`${metaField}.`) ? `${meta}${path.slice(metaField.length)}` : undefined;
}

function ofMeta({ metaField }: TimeSeries, path: string): string | undefined {
  if (metaField === undefined) return undefined;
  if (path === meta) return metaField;
  return path.startsWith(`${meta}.`) ? `${metaField}${path.slice(meta.length)}` : undefined;
}

/**
 * The key of an index over measurements as one over buckets. Undefined where servers have no such index.
 * @param release since 6.0 also over fields of measurements other than time and metadata
 */
export function bucketIndexKey(series: TimeSeries, key: Doc, release: ServerVersion): Doc | undefined {
  const translated: Doc = new Map();
  for (const [path, order] of key) {
    const ofSeries = metaPath(series, path);
    const isTime = path === series.timeField;
    if (ofSeries !== undefined) translated.set(ofSeries, order);
    else if (!isTime && !release.atLeast(6, 0)) return undefined;
    else if (!isTime && order === '2dsphere') translated.set(`${dataPrefix}${path}`, '2dsphere_bucket');
    else if (typeof order === 'string') return undefined;
    else
      for (const prefix of (numberOf(order) ?? 1) < 0 ? [maxPrefix, minPrefix] : [minPrefix, maxPrefix])
        translated.set(`${prefix}${path}`, order);
  }
  return translated;
}

const unsupported: readonly (readonly [string, string])[] = [
  ['unique', 'Unique'],
  ['sparse', 'Sparse'],
];

/**
 * The description of an index over measurements as the one that is stored for the buckets.
 * @throws CommandError 67 or 72 for one that no time-series collection has, 115 for filters on other fields
 */
export function bucketIndexSpec(series: TimeSeries, spec: Doc, release: ServerVersion): Doc {
  const refused = [
    ...unsupported,
    ...(release.atLeast(7, 0) ? [] : ([['expireAfterSeconds', 'TTL']] as const)),
    ...(release.atLeast(6, 0) ? [] : ([['partialFilterExpression', 'Partial']] as const)),
  ];
  const found = refused.find(([name]) =>
    name.startsWith('e') || name.startsWith('p') ? spec.has(name) : isTrue(spec.get(name)),
  );
  if (found !== undefined) throw invalidOptions(`${found[1]} indexes are not supported on time-series collections`);
  const given = docOf(spec.get('key')) ?? new Map<string, Value>();
  const key = bucketIndexKey(series, given, release);
  if (key === undefined || key.size === 0)
    throw new CommandError(
      67,
      'CannotCreateIndex',
      `Invalid index spec for time-series collection: ${documentText(given)}`,
    );
  refuseExpiryOfOthers(series, spec, given);
  const ofTime = `${minPrefix}${series.timeField}`;
  // What expires does so by its lowest time alone (seen on 8.0.10).
  const isExpiring = spec.has('expireAfterSeconds');
  const storedKey: Doc = isExpiring ? new Map([[ofTime, given.get(series.timeField) ?? new Int32(1)]]) : key;
  const stored: Doc = new Map([...spec, ['key', storedKey]]);
  const filter = docOf(spec.get('partialFilterExpression'));
  if (filter !== undefined) stored.set('partialFilterExpression', partialFilter(series, filter));
  if (filter !== undefined || !isOfTimeAndMeta(series, given)) stored.set('originalSpec', spec);
  return stored;
}

/** Measurements expire by their time, where their metadata match a filter. */
function refuseExpiryOfOthers({ timeField }: TimeSeries, spec: Doc, key: Doc): void {
  if (!spec.has('expireAfterSeconds')) return;
  if (key.size !== 1 || !key.has(timeField) || !spec.has('partialFilterExpression'))
    throw invalidOptions('TTL indexes are not supported on time-series collections');
}

function partialFilter(series: TimeSeries, filter: Doc): Doc {
  const translated = renamed(series, filter);
  if (translated === undefined)
    throw unsimulated('A partial index over other fields than the metadata of measurements');
  return translated;
}

function isOfTimeAndMeta(series: TimeSeries, key: Doc): boolean {
  return [...key.keys()].every((path) => path === series.timeField || metaPath(series, path) !== undefined);
}

/** The description of an index over buckets as lists of the measurements' collection show it; undefined for others. */
export function seriesIndexSpec(series: TimeSeries, spec: Doc): Doc | undefined {
  const original = docOf(spec.get('originalSpec'));
  if (original !== undefined) return original;
  const key = seriesIndexKey(series, docOf(spec.get('key')) ?? new Map<string, Value>());
  return key === undefined ? undefined : new Map([...spec, ['key', key]]);
}

function seriesIndexKey(series: TimeSeries, key: Doc): Doc | undefined {
  const shown: Doc = new Map();
  const fields = [...key];
  for (let at = 0; at < fields.length; at += 1) {
    const [path = '', order = null] = fields[at] ?? [];
    const own = ofMeta(series, path);
    if (own !== undefined) {
      shown.set(own, order);
      continue;
    }
    const descends = (numberOf(order) ?? 1) < 0;
    const [first, second] = descends ? [maxPrefix, minPrefix] : [minPrefix, maxPrefix];
    const paired = fields[at + 1]?.[0] === `${second}${series.timeField}`;
    if (path !== `${first}${series.timeField}` || !paired) return undefined;
    shown.set(series.timeField, order);
    at += 1;
  }
  return shown;
}

/** The filter with the paths of buckets; undefined where it asks for more than metadata. */
function renamed(series: TimeSeries, filter: Doc): Doc | undefined {
  const translated: Doc = new Map();
  for (const [name, condition] of filter) {
    if (['$and', '$or', '$nor'].includes(name) && Array.isArray(condition)) {
      const parts = condition.map((part) => (part instanceof Map ? renamed(series, part) : undefined));
      if (parts.includes(undefined)) return undefined;
      translated.set(name, parts as Doc[]);
      continue;
    }
    const path = name === '$comment' ? name : metaPath(series, name);
    if (path === undefined) return undefined;
    translated.set(path, condition);
  }
  return translated;
}

/** A filter on measurements as one on buckets, if it asks for nothing but metadata. */
export function metaFilter(series: TimeSeries, filter: Doc): Doc | undefined {
  return renamed(series, filter);
}

/**
 * What a filter on measurements says of the metadata alone: buckets that it leaves out have no measurement that
 * matches.
 */
export function targetingFilter(series: TimeSeries, filter: Doc): Doc {
  const translated: Doc = new Map();
  for (const [name, condition] of filter) {
    const path = metaPath(series, name);
    if (path !== undefined) translated.set(path, condition);
  }
  return translated;
}

/**
 * The same, as releases demand it that delete and update whole buckets only.
 * @throws CommandError 72 for a filter on other fields
 */
export function requiredMetaFilter(series: TimeSeries, filter: Doc): Doc {
  if (filter.has('$expr'))
    throw invalidOptions('Cannot use $expr when performing an update or delete on a time-series collection');
  const translated = renamed(series, filter);
  if (translated !== undefined) return translated;
  throw invalidOptions(
    'Cannot perform an update or delete on a time-series collection when querying on a field that is not the ' +
      `metaField '${series.metaField ?? ''}'`,
  );
}

/** Operators of an update of metadata as those of an update of buckets. @throws CommandError 72 for other fields */
export function metaOperators(series: TimeSeries, operators: Doc): Doc {
  const translated: Doc = new Map();
  for (const [operator, operand] of operators) {
    const fields = docOf(operand) ?? new Map<string, Value>();
    translated.set(
      operator,
      new Map([...fields].map(([path, value]) => [requiredMetaPath(series, path), target(series, operator, value)])),
    );
  }
  return translated;
}

/** The second path of a renaming is of metadata too. */
function target(series: TimeSeries, operator: string, value: Value): Value {
  return operator === '$rename' ? requiredMetaPath(series, textOrEmpty(value)) : value;
}

function requiredMetaPath(series: TimeSeries, path: string): string {
  const translated = metaPath(series, path);
  if (translated !== undefined) return translated;
  throw invalidOptions(
    'Cannot perform an update on a time-series collection which updates a field that is not the metaField ' +
      `'${series.metaField ?? ''}'`,
  );
}

/**
 * A shard key of measurements as one of buckets.
 * @throws CommandError 5914001 for other fields than metadata and time, 5914000 for a time before the end, and 880031
 * for one that is no number (8.0.10 source)
 */
export function bucketShardKey(series: TimeSeries, key: Doc): Doc {
  const translated: Doc = new Map();
  const last = [...key.keys()].at(-1);
  for (const [path, order] of key) {
    const ofSeries = metaPath(series, path);
    if (path === series.timeField) {
      if (path !== last) throw refusedKey(5914000, `has its time '${path}' only at the end`);
      if (numberOf(order) === undefined) throw refusedKey(880031, `has its time '${path}' only as a number`);
    } else if (ofSeries === undefined) throw refusedKey(5914001, 'has only metadata and time');
    translated.set(ofSeries ?? `${minPrefix}${path}`, order);
  }
  return translated;
}

function refusedKey(code: number, rule: string): CommandError {
  return new CommandError(code, `Location${code}`, `The shard key of a time-series collection ${rule}`);
}

/** The path of a bucket's first time. */
export function firstTimePath({ timeField }: Pick<TimeSeries, 'timeField'>): string {
  return `${minPrefix}${timeField}`;
}

/** The path of a bucket's last time. */
export function lastTimePath({ timeField }: Pick<TimeSeries, 'timeField'>): string {
  return `${maxPrefix}${timeField}`;
}

/** The index that servers make for a shard key of buckets: since 8.0 with the last time behind the first. */
export function shardKeyIndex(series: TimeSeries, key: Doc, release: ServerVersion): Doc {
  if (!release.atLeast(8, 0) || !key.has(firstTimePath(series))) return key;
  return new Map([...key, [lastTimePath(series), new Int32(1)]]);
}

function invalidOptions(message: string): CommandError {
  return new CommandError(72, 'InvalidOptions', message);
}
