import { Int32, Long } from 'bson';
import { valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { doc, numberOf } from '../../node/doc-fields.js';
import { CommandError } from '../../node/command.js';
import type { ServerVersion } from '../../node/server-version.js';
import { failure } from '../failure.js';

/** Longest span of a bucket by granularity, in seconds (manual, "Time Series Collections"). */
const BUCKET_SPAN_SECONDS: ReadonlyMap<string, number> = new Map([
  ['seconds', 3600],
  ['minutes', 86_400],
  ['hours', 2_592_000],
]);

/**
 * The options of a time-series collection as `listCollections` shows them.
 * Throws CommandError 2, 14, 72, 5510500 and 40415 for what this release refuses.
 */
export function timeseriesOptions(body: Doc, version: ServerVersion): Doc {
  const requested = body.get('timeseries');
  if (!(requested instanceof Map))
    throw failure.typeMismatch("BSON field 'create.timeseries' is the wrong type, expected type 'object'");
  const fields = version.atLeast(7, 0) ? FIELDS_SINCE_63 : FIELDS;
  for (const name of requested.keys())
    if (!fields.includes(name)) throw failure.unknownField(`create.timeseries.${name}`);
  const timeseries: Doc = new Map<string, Value>([['timeField', requested.get('timeField') ?? '']]);
  const metaField = requested.get('metaField');
  if (metaField !== undefined) timeseries.set('metaField', metaField);
  const own = ownSpan(requested, version);
  if (own === undefined) setGranularity(timeseries, requested);
  else timeseries.set('bucketRoundingSeconds', new Int32(own)).set('bucketMaxSpanSeconds', new Int32(own));
  const options: Doc = new Map();
  const seconds = numberOf(body.get('expireAfterSeconds'));
  if (seconds !== undefined) options.set('expireAfterSeconds', Long.fromNumber(seconds));
  return options.set('timeseries', timeseries);
}

/** How buckets are cut: by the granularity, or since 6.3 by seconds of the collection's own (manual: "Set Granularity for Time Series Data"). */
function setGranularity(timeseries: Doc, requested: Doc): void {
  const granularity = requested.get('granularity') ?? 'seconds';
  const span = typeof granularity === 'string' ? BUCKET_SPAN_SECONDS.get(granularity) : undefined;
  if (span === undefined)
    throw failure.badValue(
      `Enumeration value '${valueText(granularity)}' for field 'create.timeseries.granularity' is not a valid value.`,
    );
  const asked = numberOf(requested.get('bucketMaxSpanSeconds'));
  if (asked !== undefined && asked !== span) {
    const rule = `Timeseries 'bucketMaxSpanSeconds' is not configurable to a value other than the default of ${span} for the provided granularity`;
    throw new CommandError(5510500, 'Location5510500', rule);
  }
  timeseries.set('granularity', granularity).set('bucketMaxSpanSeconds', new Int32(span));
}

/** Seconds of a bucket when the collection names its own; both fields say the same. */
function ownSpan(requested: Doc, version: ServerVersion): number | undefined {
  const span = numberOf(requested.get('bucketMaxSpanSeconds'));
  const rounding = numberOf(requested.get('bucketRoundingSeconds'));
  if (!version.atLeast(7, 0) || requested.has('granularity') || (span === undefined && rounding === undefined)) {
    if (rounding !== undefined)
      throw failure.invalidOptions("Timeseries 'bucketRoundingSeconds' cannot be set together with 'granularity'");
    return undefined;
  }
  if (span !== rounding)
    throw failure.invalidOptions(
      "Timeseries 'bucketMaxSpanSeconds' and 'bucketRoundingSeconds' must be set, and equal to each other",
    );
  return span;
}

const FIELDS = ['timeField', 'metaField', 'granularity', 'bucketMaxSpanSeconds'];
const FIELDS_SINCE_63 = [...FIELDS, 'bucketRoundingSeconds'];

/** The options of the collection that holds a time-series collection's buckets. */
export function bucketsOptions(options: Doc): Doc {
  const timeseries = options.get('timeseries');
  const named = timeseries instanceof Map ? timeseries.get('timeField') : undefined;
  const timeField = typeof named === 'string' ? named : '';
  const dated = doc(['bsonType', 'object'], ['required', [timeField]], ['properties', doc([timeField, type('date')])]);
  const control = doc(
    ['bsonType', 'object'],
    ['required', ['version', 'min', 'max']],
    ['properties', doc(['version', type('number')], ['min', dated], ['max', dated], ['closed', type('bool')])],
  );
  const schema = doc(
    ['bsonType', 'object'],
    ['required', ['_id', 'control', 'data']],
    ['properties', doc(['_id', type('objectId')], ['control', control], ['data', type('object')], ['meta', doc()])],
    ['additionalProperties', false],
  );
  return new Map<string, Value>([['validator', doc(['$jsonSchema', schema])], ['clusteredIndex', true], ...options]);
}

/** The stage that turns buckets into measurements again, as the view in front of them holds it. */
export function unpackStage(options: Doc): Doc {
  const timeseries = options.get('timeseries');
  const unpack: Doc = new Map();
  for (const field of ['timeField', 'metaField', 'bucketMaxSpanSeconds']) {
    const value = timeseries instanceof Map ? timeseries.get(field) : undefined;
    if (value !== undefined) unpack.set(field, value);
  }
  return doc(['$_internalUnpackBucket', unpack.set('exclude', [])]);
}

function type(name: string): Doc {
  return doc(['bsonType', name]);
}
