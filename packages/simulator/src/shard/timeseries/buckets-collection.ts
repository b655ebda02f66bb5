import { Int32, Long } from 'bson';
import { valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { doc, numberOf } from '../../node/doc-fields.js';
import { failure } from '../failure.js';

/** Longest span of a bucket by granularity, in seconds (manual, "Time Series Collections"). */
const BUCKET_SPAN_SECONDS: ReadonlyMap<string, number> = new Map([
  ['seconds', 3600],
  ['minutes', 86_400],
  ['hours', 2_592_000],
]);

/** The options of a time-series collection as `listCollections` shows them. */
export function timeseriesOptions(body: Doc): Doc {
  const requested = body.get('timeseries');
  if (!(requested instanceof Map)) throw failure.typeMismatch("BSON field 'create.timeseries' is the wrong type, expected type 'object'");
  const granularity = requested.get('granularity') ?? 'seconds';
  const span = typeof granularity === 'string' ? BUCKET_SPAN_SECONDS.get(granularity) : undefined;
  if (span === undefined) throw failure.badValue(`Enumeration value '${valueText(granularity)}' for field 'create.timeseries.granularity' is not a valid value.`);
  const timeseries: Doc = new Map<string, Value>([['timeField', requested.get('timeField') ?? '']]);
  const metaField = requested.get('metaField');
  if (metaField !== undefined) timeseries.set('metaField', metaField);
  timeseries.set('granularity', granularity);
  timeseries.set('bucketMaxSpanSeconds', new Int32(span));
  const options: Doc = new Map();
  const seconds = numberOf(body.get('expireAfterSeconds'));
  if (seconds !== undefined) options.set('expireAfterSeconds', Long.fromNumber(seconds));
  return options.set('timeseries', timeseries);
}

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

