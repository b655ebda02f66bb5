import { Int32 } from 'bson';
import { valueText } from '../bson/text.js';
import type { DateTime, Doc, Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';
import { docOf, numberOf, textOrEmpty } from '../node/doc-fields.js';
import { collectionOf, databaseOf } from '../node/namespace.js';
import type { ServerVersion } from '../node/server-version.js';
import { unknownField } from '../node/unknown-field.js';

/** How the measurements of a time-series collection are divided into buckets. */
export interface TimeSeries {
  readonly timeField: string;
  readonly metaField: string | undefined;
  /** Times of one bucket lie less than this apart. */
  readonly maxSpan_seconds: number;
  /** The first time of a bucket is rounded down to a multiple of this. */
  readonly rounding_seconds: number;
}

const bucketsPrefix = 'system.buckets.';

/** The collection of the buckets of a time-series collection. */
export function bucketsNamespaceOf(namespace: string): string {
  return `${databaseOf(namespace)}.${bucketsPrefix}${collectionOf(namespace)}`;
}

/** The time-series collection of a collection of buckets. Undefined for other names. */
export function seriesNamespaceOf(buckets: string): string | undefined {
  const name = collectionOf(buckets);
  return name.startsWith(bucketsPrefix) ? `${databaseOf(buckets)}.${name.slice(bucketsPrefix.length)}` : undefined;
}

interface Granularity {
  readonly maxSpan_seconds: number;
  readonly rounding_seconds: number;
}

/** Bucketing by granularity (manual, "Time Series Collections"). */
const granularities: ReadonlyMap<string, Granularity> = new Map([
  ['seconds', { maxSpan_seconds: 3600, rounding_seconds: 60 }],
  ['minutes', { maxSpan_seconds: 86_400, rounding_seconds: 3600 }],
  ['hours', { maxSpan_seconds: 2_592_000, rounding_seconds: 86_400 }],
]);

/** The bucketing in the options of a collection. Undefined for other collections. */
export function timeSeriesOf(options: Doc): TimeSeries | undefined {
  const fields = docOf(options.get('timeseries'));
  if (fields === undefined) return undefined;
  const metaField = fields.get('metaField');
  const byGranularity = granularities.get(textOrEmpty(fields.get('granularity')));
  return {
    timeField: textOrEmpty(fields.get('timeField')),
    metaField: typeof metaField === 'string' ? metaField : undefined,
    maxSpan_seconds: numberOf(fields.get('bucketMaxSpanSeconds')) ?? byGranularity?.maxSpan_seconds ?? 3600,
    rounding_seconds: numberOf(fields.get('bucketRoundingSeconds')) ?? byGranularity?.rounding_seconds ?? 60,
  };
}

const millisecondsPerSecond = 1000n;

/** A time in milliseconds, rounded down as the first of a bucket is. */
export function roundedDown({ rounding_seconds }: TimeSeries, { ms }: DateTime): bigint {
  const step = BigInt(rounding_seconds) * millisecondsPerSecond;
  const beyond = ((ms % step) + step) % step;
  return ms - beyond;
}

const fieldsOf50: readonly string[] = ['timeField', 'metaField', 'granularity', 'bucketMaxSpanSeconds'];
const parameters: readonly string[] = ['bucketMaxSpanSeconds', 'bucketRoundingSeconds'];

/**
 * The `timeseries` of `create` as lists show it: with a granularity and its span, or since 6.3 with equal parameters.
 * @throws CommandError 2, 14, 72, 5510500 or 40415
 */
export function listedBucketing(namespace: string, requested: Value | undefined, version: ServerVersion): Doc {
  if (!(requested instanceof Map))
    throw new CommandError(
      14,
      'TypeMismatch',
      "BSON field 'create.timeseries' is the wrong type, expected type 'object'",
    );
  refuseUnknown('create.timeseries', requested, version);
  refuseFieldNames(namespace, requested);
  const kept = [...requested].filter(([name]) => name === 'timeField' || name === 'metaField');
  return new Map([...kept, ...listedParameters('create.timeseries', requested, version)]);
}

function refuseUnknown(command: string, requested: Doc, version: ServerVersion): void {
  const known = version.atLeast(7, 0) ? [...fieldsOf50, 'bucketRoundingSeconds'] : fieldsOf50;
  for (const name of requested.keys()) if (!known.includes(name)) throw unknownField(`${command}.${name}`);
}

/** @throws CommandError 72 for names that no time-series collection may have */
function refuseFieldNames(namespace: string, requested: Doc): void {
  const [time, meta] = ['timeField', 'metaField'].map((name) => requested.get(name));
  if (typeof time !== 'string')
    throw new CommandError(
      40414,
      'Location40414',
      "BSON field 'create.timeseries.timeField' is missing but a required field",
    );
  const shown = (name: string): CommandError =>
    invalidOptions(`${namespace}: '${name}' must be a top-level field and not contain a '.'`);
  if (time.includes('.')) throw shown('timeField');
  if (meta === '_id') throw invalidOptions(`'metaField' cannot be "_id"`);
  if (meta === time) throw invalidOptions("'metaField' cannot be the same as 'timeField'");
  if (textOrEmpty(meta).includes('.')) throw shown('metaField');
}

/** Granularity and span, or equal parameters. */
function listedParameters(command: string, requested: Doc, version: ServerVersion): [string, Value][] {
  const [span, rounding] = parameters.map((name) => numberOf(requested.get(name)));
  const given = requested.get('granularity');
  if (rounding !== undefined || (span !== undefined && given === undefined && version.atLeast(7, 0))) {
    refuseUnequal(given, span, rounding);
    return parameters.map((name) => [name, new Int32(span ?? 0)]);
  }
  const granularity = given ?? 'seconds';
  const known = granularities.get(textOrEmpty(granularity));
  if (known === undefined)
    throw new CommandError(
      2,
      'BadValue',
      `Enumeration value '${valueText(granularity)}' for field '${command}.granularity' is not a valid value.`,
    );
  if (span !== undefined && span !== known.maxSpan_seconds) {
    const rule = `is not configurable to a value other than the default of ${known.maxSpan_seconds}`;
    const shown = `Timeseries 'bucketMaxSpanSeconds' ${rule} for the provided granularity`;
    throw new CommandError(5510500, 'Location5510500', shown);
  }
  return [
    ['granularity', granularity],
    ['bucketMaxSpanSeconds', new Int32(known.maxSpan_seconds)],
  ];
}

/** @throws CommandError 72 for parameters that do not go together */
function refuseUnequal(granularity: Value | undefined, span: number | undefined, rounding: number | undefined): void {
  if (granularity !== undefined)
    throw invalidOptions("Timeseries 'bucketRoundingSeconds' cannot be set together with 'granularity'");
  if (span === undefined || rounding === undefined || span !== rounding)
    throw invalidOptions(
      "Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' need to be set together, and to the same value",
    );
}

/**
 * The bucketing of a collection after `collMod`, which can only widen it.
 * @throws CommandError 2, 72, 5510500 or 40415
 */
export function widenedBucketing(before: Doc, requested: Doc, version: ServerVersion): Doc {
  refuseUnknown('collMod.timeseries', requested, version);
  const fixed = ['timeField', 'metaField'].find((name) => requested.has(name));
  if (fixed !== undefined) throw unknownField(`collMod.timeseries.${fixed}`);
  const kept = [...before].filter(([name]) => name === 'timeField' || name === 'metaField');
  const after: Doc = new Map([...kept, ...listedParameters('collMod.timeseries', requested, version)]);
  const widths = [before, after].map((fields) => timeSeriesOf(new Map([['timeseries', fields]])));
  const [was, is] = widths;
  if (was === undefined || is === undefined) return after;
  const narrowed = narrowedParameter(was, is);
  if (narrowed === undefined) return after;
  if (before.has('granularity') && after.has('granularity'))
    throw invalidOptions(
      "Invalid transition for timeseries.granularity. Can only transition from 'seconds' to 'minutes' or " +
        "'minutes' to 'hours'.",
    );
  throw invalidOptions(`Timeseries '${narrowed}' needs to be equal or greater to transition`);
}

/** Seconds may become hours too, whatever the refusal of others says (5.0.7 and 8.0.10 source; seen on 8.0.10). */
function narrowedParameter(was: TimeSeries, is: TimeSeries): string | undefined {
  if (is.maxSpan_seconds < was.maxSpan_seconds) return 'bucketMaxSpanSeconds';
  return is.rounding_seconds < was.rounding_seconds ? 'bucketRoundingSeconds' : undefined;
}

function invalidOptions(message: string): CommandError {
  return new CommandError(72, 'InvalidOptions', message);
}
