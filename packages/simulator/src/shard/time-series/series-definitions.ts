import { Int32, Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { docOrEmpty, isTrue, numberOf } from '../../node/doc-fields.js';
import { collectionOf } from '../../node/namespace.js';
import type { ServerVersion } from '../../node/server-version.js';
import { unsimulated } from '../../node/unsimulated.js';
import { widenedBucketing } from '../../time-series/bucketing.js';
import { bucketIndexKey, bucketIndexSpec, seriesIndexSpec } from '../../time-series/translation.js';
import { collMod } from '../commands/coll-mod.js';
import type { CommandContext } from '../commands/command-context.js';
import { createIndexes, dropIndexes, listedSpec } from '../commands/indexes.js';
import { storageStats } from '../commands/statistics.js';
import { completeReply } from '../cursor/cursor-reply.js';
import { failure } from '../failure.js';
import { refuseInvalidSpecs } from '../index-spec/normalize.js';
import { modifyOperation } from '../oplog/ddl-operations.js';
import type { View } from '../storage/catalog.js';
import { timeKey } from '../storage/time-key.js';
import { storeView } from '../write/view-catalog.js';
import { checkedExpiry, unpackStage } from './create-series.js';
import type { SeriesTarget } from './series-target.js';

/** The command as it would be on the buckets. */
function onBuckets(context: CommandContext, { buckets }: SeriesTarget, fields: Doc): CommandContext {
  const { request } = context;
  const body: Doc = new Map([...request.body, [request.name, buckets.name], ...fields]);
  body.delete('isTimeseriesNamespace');
  return { ...context, request: { ...request, body } };
}

/** `createIndexes` of a time-series collection, whose indexes are over the buckets. @throws CommandError 67 or 72 */
export function createSeriesIndexes(context: CommandContext, target: SeriesTarget): Doc | Promise<Doc> {
  const given = context.request.body.get('indexes');
  if (!Array.isArray(given) || given.length === 0) throw failure.badValue('Must specify at least one index to create');
  const described = given.map(docOrEmpty);
  refuseInvalidSpecs(described, expiryMax);
  const { version } = context.state;
  const translated = described.map((spec) => bucketIndexSpec(target.rules.series, spec, version));
  return createIndexes(onBuckets(context, target, new Map([['indexes', translated]])));
}

const expiryMax = 2_147_483_647;

/** `dropIndexes` of a time-series collection: by names, or by the key over measurements. */
export function dropSeriesIndexes(context: CommandContext, target: SeriesTarget): Doc | Promise<Doc> {
  const wanted = context.request.body.get('index') ?? null;
  return dropIndexes(onBuckets(context, target, new Map([['index', translated(context, target, wanted)]])));
}

function translated({ state }: CommandContext, { rules }: SeriesTarget, wanted: Value): Value {
  return wanted instanceof Map ? (bucketIndexKey(rules.series, wanted, state.version) ?? wanted) : wanted;
}

/** `listIndexes` of a time-series collection: those of the buckets that are of measurements. */
export function listSeriesIndexes(_context: CommandContext, { namespace, buckets, rules }: SeriesTarget): Doc {
  const shown = buckets.listedIndexes.flatMap(({ definition: { spec } }) => {
    const own = seriesIndexSpec(rules.series, listedSpec(spec));
    return own === undefined ? [] : [own];
  });
  return completeReply(shown, namespace);
}

const mixedSchema = 'timeseriesBucketsMayHaveMixedSchemaData';
const changeable: ReadonlySet<string> = new Set(['timeseries', 'expireAfterSeconds', 'index', mixedSchema]);
const ofCollections: readonly string[] = [
  'validator',
  'validationLevel',
  'validationAction',
  'viewOn',
  'pipeline',
  'recordPreImages',
  'changeStreamPreAndPostImages',
  'cappedSize',
  'cappedMax',
];

/**
 * `collMod` of a time-series collection: its bucketing, which its view shows too, when its buckets expire, whether they
 * may mix types, and which indexes are hidden.
 * @throws CommandError 72 for other changes
 */
export function modifySeries(context: CommandContext, target: SeriesTarget): Doc | Promise<Doc> {
  const { state, request } = context;
  const { body } = request;
  const foreign = ofCollections.find((name) => body.has(name));
  if (foreign !== undefined)
    throw failure.invalidOptions(`option not supported on a time-series collection: ${foreign}`);
  if (body.has(mixedSchema)) refuseMixedSchema(context, body.get(mixedSchema));
  const index = body.get('index');
  if (index instanceof Map) return modifyIndex(context, target, index);
  const { buckets } = target;
  state.writeBlock.refuse(buckets.db, buckets.name);
  state.builds.refuseOther(buckets);
  const before = buckets.options;
  const options = changedOptions(context, target);
  showInView(context, target, options);
  buckets.options = options;
  const clusterTime = state.oplog.nextTime();
  buckets.minimumVisibleTime = timeKey(clusterTime);
  const logged: Doc = new Map([...body].filter(([name]) => changeable.has(name) && name !== mixedSchema));
  state.oplog.append(clusterTime, [modifyOperation(buckets, logged, before, new Map())]);
  return new Map();
}

/** @throws CommandError 40415 before 6.0; 72 where a release does not take the flag back */
function refuseMixedSchema({ state }: CommandContext, wanted: Value | undefined): void {
  if (!state.version.atLeast(6, 0)) throw failure.unknownField(`collMod.${mixedSchema}`);
  if (!isTrue(wanted) && !state.version.atLeast(8, 0))
    throw failure.invalidOptions(`Cannot set ${mixedSchema} to false`);
}

/** Only hidden changes of an index; nothing of time-series collections is armed later. @throws CommandError 72 */
function modifyIndex(context: CommandContext, target: SeriesTarget, index: Doc): Doc {
  const refused = ['expireAfterSeconds', 'unique', 'prepareUnique'].find((name) => index.has(name));
  if (refused === 'expireAfterSeconds')
    throw failure.invalidOptions('TTL indexes are not supported for time-series collections.');
  if (refused !== undefined)
    throw failure.invalidOptions(`option not supported on a time-series collection: ${refused}`);
  const pattern = index.get('keyPattern');
  const change =
    pattern instanceof Map ? new Map(index).set('keyPattern', translated(context, target, pattern)) : index;
  return collMod(onBuckets(context, target, new Map([['index', change]])));
}

function changedOptions({ state, request: { body } }: CommandContext, { buckets }: SeriesTarget): Doc {
  let options: Doc = new Map(buckets.options);
  const requested = body.get('timeseries');
  if (requested instanceof Map)
    options.set('timeseries', widenedBucketing(docOrEmpty(options.get('timeseries')), requested, state.version));
  if (body.has(mixedSchema)) {
    buckets.mixesSchemas = isTrue(body.get(mixedSchema));
    if (state.version.atLeast(7, 0)) options = withMetadata(options, buckets.mixesSchemas);
  }
  const seconds = body.get('expireAfterSeconds');
  if (seconds === 'off') options.delete('expireAfterSeconds');
  else if (seconds !== undefined) options = withExpiry(options, seconds);
  return options;
}

/** The number of seconds stands before the bucketing. */
function withExpiry(options: Doc, seconds: Value): Doc {
  const changed = Long.fromNumber(checkedExpiry(numberOf(seconds) ?? 0));
  if (options.has('expireAfterSeconds')) return options.set('expireAfterSeconds', changed);
  const fields = [...options];
  fields.splice(
    fields.findIndex(([name]) => name === 'timeseries'),
    0,
    ['expireAfterSeconds', changed],
  );
  return new Map(fields);
}

/** Since 7.0.13 lists show the flag among the storage engine's options (SERVER-91195). */
function withMetadata(options: Doc, mixes: boolean): Doc {
  const configString = `app_metadata=(${mixedSchema}=${mixes})`;
  return new Map<string, Value>([
    ['storageEngine', new Map([['wiredTiger', new Map([['configString', configString]])]])],
    ...[...options].filter(([name]) => name !== 'storageEngine'),
  ]);
}

/** A shard that has the view shows the change there, with an event where its stage changes. */
function showInView({ state, request }: CommandContext, { namespace }: SeriesTarget, options: Doc): void {
  const view = state.catalog.view(namespace);
  if (view === undefined) return;
  const changed = changedView(view, options, state.version);
  if (request.body.has('timeseries')) storeView(state, changed);
  else state.catalog.addView(changed);
}

/** The view of a time-series collection whose buckets have other options now. */
export function changedView(view: View, ofBuckets: Doc, version: ServerVersion): View {
  const names = ['expireAfterSeconds', 'timeseries'];
  const options: Doc = new Map([
    ...[...view.options].filter(([name]) => !names.includes(name)),
    ...[...ofBuckets].filter(([name]) => names.includes(name)),
  ]);
  return { ...view, options, pipeline: [unpackStage(options, version)] };
}

/** `collStats` of a time-series collection: the sizes of its buckets. */
export function seriesStats(context: CommandContext, { namespace, buckets }: SeriesTarget): Doc {
  const { request, state } = context;
  const stats = storageStats(buckets, numberOf(request.body.get('scale')) ?? 1, state.version);
  const timeseries: Doc = new Map<string, Value>([
    ['bucketsNs', buckets.namespace],
    ['bucketCount', stats.get('count') ?? new Int32(0)],
  ]);
  const average = stats.get('avgObjSize');
  if (average !== undefined) timeseries.set('avgBucketSize', average);
  const others = [...stats].filter(([name]) => name !== 'count' && name !== 'avgObjSize');
  return new Map<string, Value>([['ns', namespace], ...others, ['timeseries', timeseries]]);
}

/** No time-series collection has `findAndModify`. @throws CommandError 166 */
export function refuseFindAndModify(_context: CommandContext, { namespace }: SeriesTarget): Doc {
  throw new CommandError(166, 'CommandNotSupportedOnView', `Namespace ${namespace} is a timeseries collection`);
}

/** @throws CommandError 115 */
export function refuseValidate(_context: CommandContext, { namespace }: SeriesTarget): Doc {
  throw unsimulated(`validate of the time-series collection ${collectionOf(namespace)}`);
}
