import { buildIndexes } from '../index-spec/build.js';
import type { ServerVersion } from '../../node/server-version.js';
import { Int32, Long } from 'bson';
import { valueText } from '../../bson/text.js';
import type { Doc, Value } from '../../bson/value.js';
import { doc, docOrEmpty, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { unsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import type { ShardState } from '../shard-state.js';
import { createCollection } from './collection-access.js';
import { storeView } from './view-catalog.js';

/** Longest span of a bucket by granularity, in seconds (manual, "Time Series Collections"). */
const bucketSpan_seconds: ReadonlyMap<string, number> = new Map([
  ['seconds', 3600],
  ['minutes', 86_400],
  ['hours', 2_592_000],
]);

/**
 * `create` with `timeseries`: the collection of buckets and the view in front of it, as lists show them. Only the
 * definition is simulated: reads, writes and indexes are refused by name.
 * @throws CommandError 2, 14, 48 or 40415 as the server does, 115 for options of single releases
 */
export function createTimeSeries(state: ShardState, namespace: string, body: Doc): void {
  if (state.catalog.collection(namespace) !== undefined || state.catalog.view(namespace) !== undefined)
    throw failure.namespaceExists(`Collection already exists. NS: ${namespace}`);
  const options = listedOptions(body);
  const [db = ''] = namespace.split('.', 1);
  const viewOn = `system.buckets.${namespace.slice(db.length + 1)}`;
  const buckets = createCollection(state, `${db}.${viewOn}`, bucketsOptions(options, state.version));
  const index = defaultIndex(options);
  if (state.version.atLeast(8, 0) && index !== undefined) buildIndexes(state, buckets, [index.stored]);
  storeView(state, { namespace, viewOn, pipeline: [unpackStage(options, state.version)], options, type: 'timeseries' });
}

/**
 * The index over series and times that servers make with a collection that has a `metaField` (since 6.3, seen on
 * 8.0.10), as it is stored for the buckets and as it is listed.
 */
export function defaultIndex(options: Doc): { readonly stored: Doc; readonly listed: Doc } | undefined {
  const fields = docOrEmpty(options.get('timeseries'));
  const [time, meta] = [textOrEmpty(fields.get('timeField')), fields.get('metaField')];
  if (typeof meta !== 'string') return undefined;
  const spec = (key: Doc): Doc => doc(['v', new Int32(2)], ['key', key], ['name', `${meta}_1_${time}_1`]);
  const one = new Int32(1);
  return {
    stored: spec(doc(['meta', one], [`control.min.${time}`, one], [`control.max.${time}`, one])),
    listed: spec(doc([meta, one], [time, one])),
  };
}

function listedOptions(body: Doc): Doc {
  const requested = body.get('timeseries');
  if (!(requested instanceof Map))
    throw failure.typeMismatch("BSON field 'create.timeseries' is the wrong type, expected type 'object'");
  for (const name of requested.keys()) refuseOption(name);
  const granularity = requested.get('granularity') ?? 'seconds';
  const span = bucketSpan_seconds.get(textOrEmpty(granularity));
  if (span === undefined)
    throw failure.badValue(
      `Enumeration value '${valueText(granularity)}' for field 'create.timeseries.granularity' is not a valid value.`,
    );
  const metaField = requested.get('metaField');
  const timeseries: Doc = new Map<string, Value>([
    ['timeField', requested.get('timeField') ?? ''],
    ...(metaField === undefined ? [] : [['metaField', metaField] as const]),
    ['granularity', granularity],
    ['bucketMaxSpanSeconds', new Int32(span)],
  ]);
  const expiry_seconds = numberOf(body.get('expireAfterSeconds'));
  const options: Doc = new Map();
  if (expiry_seconds !== undefined) options.set('expireAfterSeconds', Long.fromNumber(expiry_seconds));
  return options.set('timeseries', timeseries);
}

function refuseOption(name: string): void {
  if (['timeField', 'metaField', 'granularity'].includes(name)) return;
  if (name === 'bucketMaxSpanSeconds' || name === 'bucketRoundingSeconds') throw unsimulated(`timeseries.${name}`);
  throw failure.unknownField(`create.timeseries.${name}`);
}

/** The options of the collection that holds the buckets. */
function bucketsOptions(options: Doc, version: ServerVersion): Doc {
  const timeField = textOrEmpty(docOrEmpty(options.get('timeseries')).get('timeField'));
  const dated = doc(['bsonType', 'object'], ['required', [timeField]], ['properties', doc([timeField, type('date')])]);
  const control = doc(
    ['bsonType', 'object'],
    ['required', ['version', 'min', 'max']],
    ['properties', doc(['version', type('number')], ['min', dated], ['max', dated], ['closed', type('bool')])],
  );
  if (version.atLeast(8, 0)) {
    docOrEmpty(control.get('properties')).set('count', type('number').set('minimum', new Int32(1)));
    control.set('additionalProperties', false);
  }
  const schema = doc(
    ['bsonType', 'object'],
    ['required', ['_id', 'control', 'data']],
    ['properties', doc(['_id', type('objectId')], ['control', control], ['data', type('object')], ['meta', doc()])],
    ['additionalProperties', false],
  );
  return new Map<string, Value>([['validator', doc(['$jsonSchema', schema])], ['clusteredIndex', true], ...options]);
}

/** The stage in the view's definition, which turns buckets into measurements on a server. */
function unpackStage(options: Doc, version: ServerVersion): Doc {
  const shown = [...docOrEmpty(options.get('timeseries'))].filter(([name]) => name !== 'granularity');
  const excluded: [string, Value][] = version.atLeast(8, 0) ? [] : [['exclude', []]];
  return doc(['$_internalUnpackBucket', new Map<string, Value>([...shown, ...excluded])]);
}

function type(name: string): Doc {
  return doc(['bsonType', name]);
}
