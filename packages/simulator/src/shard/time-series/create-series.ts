import { Int32, Long } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc, Value } from '../../bson/value.js';
import { doc, docOrEmpty, isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { bucketsNamespaceOf, listedBucketing, seriesNamespaceOf } from '../../time-series/bucketing.js';
import { completeCollation } from '../collation-spec.js';
import { refuseUnknownEngines } from '../commands/storage-options.js';
import { failure } from '../failure.js';
import { buildIndexes } from '../index-spec/build.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { createCollection } from '../write/collection-access.js';
import { storeView } from '../write/view-catalog.js';

/**
 * `create` with `timeseries`: the collection of buckets, with an index over metadata and time where the release has it,
 * and the view in front of it.
 * @throws CommandError 2, 14, 48, 72 or 40415 as the server does
 */
export function createTimeSeries(state: ShardState, namespace: string, body: Doc): void {
  const options = listedOptions(state, namespace, body);
  const present = state.catalog.view(namespace);
  if (present?.type === 'timeseries' && encodeDocument(present.options).equals(encodeDocument(options))) return;
  if (state.catalog.collection(namespace) !== undefined || present !== undefined)
    throw failure.namespaceExists(`Collection already exists. NS: ${namespace}`);
  const buckets = createBuckets(state, bucketsNamespaceOf(namespace), options);
  const index = defaultIndex(options);
  if (state.version.atLeast(7, 0) && index !== undefined) buildIndexes(state, buckets, [index]);
  storeView(state, {
    namespace,
    viewOn: buckets.name,
    pipeline: [unpackStage(options, state.version)],
    options,
    type: 'timeseries',
  });
}

/**
 * `create` of a collection of buckets by its own options, as lists show them, without a view in front of it. Its
 * validator is the given one.
 */
export function restoreBuckets(state: ShardState, namespace: string, body: Doc): void {
  if (state.catalog.collection(namespace) !== undefined)
    throw failure.namespaceExists(`Collection already exists. NS: ${namespace}`);
  const validator = body.get('validator');
  createBuckets(
    state,
    namespace,
    listedOptions(state, namespace, body),
    validator instanceof Map ? validator : undefined,
  );
}

function createBuckets(state: ShardState, namespace: string, listed: Doc, validator?: Doc): Collection {
  const buckets = createCollection(state, namespace, bucketsOptions(listed, state.version, validator));
  buckets.mixesSchemas = !state.version.atLeast(6, 0);
  return buckets;
}

/**
 * The index over series and times that servers make with a collection that has a `metaField` (since 6.3). It has the
 * simple collation, whatever that of the collection (8.0.10 source, `_createDefaultTimeseriesIndex`).
 */
function defaultIndex(options: Doc): Doc | undefined {
  const fields = docOrEmpty(options.get('timeseries'));
  const [time, meta] = [textOrEmpty(fields.get('timeField')), fields.get('metaField')];
  if (typeof meta !== 'string') return undefined;
  const one = new Int32(1);
  const key = doc(['meta', one], [`control.min.${time}`, one], [`control.max.${time}`, one]);
  return doc(['v', new Int32(2)], ['key', key], ['name', `${meta}_1_${time}_1`]);
}

/** Options that a time-series collection may have, in the order of lists. */
const allowed: readonly string[] = [
  'storageEngine',
  'indexOptionDefaults',
  'collation',
  'expireAfterSeconds',
  'timeseries',
];
/** Options that every collection may have, as they are. */
const kept: readonly string[] = ['storageEngine', 'indexOptionDefaults'];
/** What only the command itself has. */
const ofCommand: ReadonlySet<string> = new Set(['create', 'writeConcern', 'comment', 'maxTimeMS', 'lsid', 'txnNumber']);

function listedOptions({ version }: ShardState, namespace: string, body: Doc): Doc {
  refuseOtherOptions(namespace, body);
  refuseUnknownEngines(body);
  const options: Doc = new Map();
  for (const name of kept) {
    const value = body.get(name);
    if (value !== undefined) options.set(name, value);
  }
  const requested = body.get('collation');
  const collation = requested instanceof Map ? completeCollation(requested) : undefined;
  if (collation !== undefined) options.set('collation', collation);
  const expiry_seconds = numberOf(body.get('expireAfterSeconds'));
  if (expiry_seconds !== undefined) options.set('expireAfterSeconds', Long.fromNumber(checkedExpiry(expiry_seconds)));
  return options.set('timeseries', listedBucketing(namespace, body.get('timeseries'), version));
}

/** @throws CommandError 72 for options that go with no time-series collection */
function refuseOtherOptions(namespace: string, body: Doc): void {
  const isBuckets = seriesNamespaceOf(namespace) !== undefined;
  for (const [name, value] of body) {
    if (ofCommand.has(name) || name.startsWith('$') || allowed.includes(name)) continue;
    if (name === 'capped' && !isTrue(value)) continue;
    if (isBuckets && (name === 'validator' || name === 'clusteredIndex')) continue;
    if (!refusedOptions.has(name)) continue;
    throw failure.invalidOptions(`${namespace}: 'timeseries' is not allowed with '${name}'`);
  }
}

const refusedOptions: ReadonlySet<string> = new Set([
  'capped',
  'autoIndexId',
  'idIndex',
  'size',
  'max',
  'validator',
  'validationLevel',
  'validationAction',
  'viewOn',
  'pipeline',
  'recordPreImages',
  'changeStreamPreAndPostImages',
  'encryptedFields',
  'clusteredIndex',
  'temp',
]);

/** Buckets expire by the seconds since 1970 in their `_id`, so none can be older (8.0.10 source: create, collMod). */
export function checkedExpiry(seconds: number): number {
  if (seconds < 0) throw failure.invalidOptions("'expireAfterSeconds' option must be greater than or equal to 0");
  const now_seconds = Math.floor(Date.now() / 1_000);
  if (seconds <= now_seconds) return seconds;
  throw failure.invalidOptions(
    `TTL index 'expireAfterSeconds' option cannot exceed time since last epoch (${now_seconds}s) for time-series ` +
      `collections, found ${seconds}`,
  );
}

/** The options of the collection that holds the buckets. */
function bucketsOptions(options: Doc, version: ServerVersion, validator?: Doc): Doc {
  const timeField = textOrEmpty(docOrEmpty(options.get('timeseries')).get('timeField'));
  const made = validator ?? doc(['$jsonSchema', bucketSchema(timeField, version)]);
  const before = [...options].filter(([name]) => kept.includes(name));
  const collation = [...options].filter(([name]) => name === 'collation');
  const behind = [...options].filter(([name]) => !kept.includes(name) && name !== 'collation');
  return new Map<string, Value>([...before, ['validator', made], ...collation, ['clusteredIndex', true], ...behind]);
}

function bucketSchema(timeField: string, version: ServerVersion): Doc {
  const dated = doc(['bsonType', 'object'], ['required', [timeField]], ['properties', doc([timeField, type('date')])]);
  const control = doc(
    ['bsonType', 'object'],
    ['required', ['version', 'min', 'max']],
    ['properties', doc(['version', type('number')], ['min', dated], ['max', dated], ['closed', type('bool')])],
  );
  if (version.atLeast(6, 0)) {
    docOrEmpty(control.get('properties')).set('count', type('number').set('minimum', new Int32(1)));
    control.set('additionalProperties', false);
  }
  return doc(
    ['bsonType', 'object'],
    ['required', ['_id', 'control', 'data']],
    ['properties', doc(['_id', type('objectId')], ['control', control], ['data', type('object')], ['meta', doc()])],
    ['additionalProperties', false],
  );
}

function type(name: string): Doc {
  return doc(['bsonType', name]);
}

/** The stage in the view's definition, which turns buckets into measurements. */
export function unpackStage(options: Doc, version: ServerVersion): Doc {
  const shown = [...docOrEmpty(options.get('timeseries'))].filter(
    ([name]) => name !== 'granularity' && name !== 'bucketRoundingSeconds',
  );
  const excluded: [string, Value][] = version.atLeast(8, 0) ? [] : [['exclude', []]];
  return doc(['$_internalUnpackBucket', new Map<string, Value>([...shown, ...excluded])]);
}
