import type { Doc, Value } from '../../bson/value.js';
import type { ServerVersion } from '../../node/server-version.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { isUnsimulated } from '../../node/unsimulated.js';
import { failure } from '../failure.js';
import { modifyOperation } from '../oplog/ddl-operations.js';
import type { ShardState } from '../shard-state.js';
import type { View } from '../storage/catalog.js';
import type { Collection } from '../storage/collection.js';
import { timeKey } from '../storage/time-key.js';
import { storeView } from '../write/view-catalog.js';
import { changeIndex, refuseUnknownIndexFields } from './coll-mod-index.js';
import {
  cappedSizeBytes,
  inOptionOrder,
  refuseCycle,
  refuseInvalidValidator,
  refuseUnknownValidation,
  refuseViewStages,
  viewDefinition,
  wholeNumber,
} from './create.js';
import { requireExpectedCollection } from './expected-collection.js';
import { refuseUnknownFields, targetNamespace, type CommandContext } from './command-context.js';

const fieldsOf44 = [
  'index',
  'validator',
  'validationLevel',
  'validationAction',
  'viewOn',
  'pipeline',
  'recordPreImages',
];
const fieldsOf50 = [...fieldsOf44, 'expireAfterSeconds', 'timeseries', 'isTimeseriesNamespace'];
const fieldsSince60 = [
  ...fieldsOf50.filter((name) => name !== 'recordPreImages'),
  'changeStreamPreAndPostImages',
  'cappedSize',
  'cappedMax',
  'dryRun',
  'collectionUUID',
  'timeseriesBucketsMayHaveMixedSchemaData',
];
const validation = [
  'validator',
  'validationLevel',
  'validationAction',
  'recordPreImages',
  'changeStreamPreAndPostImages',
];

/** `collMod`: changes an index, the validation, limits or a view. Replies with old and new values of an index. */
export function collMod(context: CommandContext): Doc {
  const { state, request } = context;
  const { features } = state;
  refuseFields(context, features);
  const namespace = targetNamespace(context);
  const { body } = request;
  const index = body.get('index');
  if (index instanceof Map) refuseUnknownIndexFields(features, index);
  refuseUnknownValidation('collMod', body);
  const dryRun = isTrue(body.get('dryRun'));
  if (dryRun) refuseOtherDryRun(context, index);
  const collection = state.catalog.collection(namespace);
  requireExpectedCollection(context, namespace, collection);
  const view = state.catalog.view(namespace);
  if (view !== undefined) {
    const foreign = [...body.keys()].find((name) => ofCollections.has(name));
    if (foreign !== undefined) throw failure.invalidOptions(`option not supported on a view: ${foreign}`);
    if (body.has('viewOn') || body.has('pipeline')) changeView(state, view, body);
    return new Map();
  }
  if (collection === undefined) throw failure.namespaceNotFound('ns does not exist');
  const ofViews = ['viewOn', 'pipeline'].find((name) => body.has(name));
  if (ofViews !== undefined)
    throw failure.invalidOptions(
      state.version.atLeast(8, 0)
        ? `option only supported on a view: ${ofViews}`
        : `'${ofViews}' option only supported on a view`,
    );
  state.writeBlock.refuse(collection.db, collection.name);
  const reply: Doc = new Map();
  state.builds.refuseOther(collection);
  if (index instanceof Map) changeIndex(features, collection, index, dryRun, reply);
  if (dryRun) return reply;
  refuseOwnValidator(body, features);
  const before = collection.options;
  changeOptions(collection, body, state.version);
  const clusterTime = state.oplog.nextTime();
  collection.minimumVisibleTime = timeKey(clusterTime);
  state.oplog.append(clusterTime, [modifyOperation(collection, body, before, reply)]);
  return reply;
}

/** Omitted fields stay unchanged. */
function changeView(state: ShardState, view: View, body: Doc): void {
  const described: Doc = new Map<string, Value>([['viewOn', view.viewOn], ['pipeline', view.pipeline], ...body]);
  const { viewOn, pipeline } = viewDefinition(new Map([...described].filter(([name]) => name !== 'collation')));
  refuseViewStages(pipeline);
  refuseCycle(state, view.namespace, viewOn);
  storeView(state, {
    ...view,
    viewOn,
    pipeline,
    options: new Map<string, Value>([...view.options, ['viewOn', viewOn], ['pipeline', pipeline]]),
  });
}

/** Options that views do not have. */
const ofCollections: ReadonlySet<string> = new Set([
  'index',
  'validator',
  'validationLevel',
  'validationAction',
  'recordPreImages',
]);

function refuseOwnValidator(body: Doc, version: ServerVersion): void {
  try {
    refuseInvalidValidator(body, version);
  } catch (error) {
    if (!(error instanceof CommandError) || isUnsimulated(error)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Parsing of collection validator failed :: caused by :: ${error.message}`,
    );
  }
}

function refuseFields(context: CommandContext, version: ServerVersion): void {
  if (version.atLeast(6, 0)) refuseUnknownFields(context, new Set(fieldsSince60));
  else if (version.atLeast(5, 0)) refuseUnknownFields(context, new Set(fieldsOf50));
  else
    refuseUnknownFields(context, new Set(fieldsOf44), (name) =>
      failure.invalidOptions(`unknown option to collMod: ${name}`),
    );
}

/** Only `index.unique` supports a dry run. */
function refuseOtherDryRun({ request }: CommandContext, index: Value | undefined): void {
  const others = fieldsSince60.filter((name) => name !== 'index' && name !== 'dryRun' && request.body.has(name));
  const onlyUnique =
    index instanceof Map &&
    index.has('unique') &&
    !['expireAfterSeconds', 'hidden', 'prepareUnique'].some((name) => index.has(name));
  if (others.length > 0 || !onlyUnique)
    throw failure.invalidOptions('dryRun mode only supported for the index unique option');
}

function changeOptions(collection: Collection, body: Doc, version: ServerVersion): void {
  const options: Doc = new Map(collection.options);
  for (const name of validation) {
    const value = body.get(name);
    if (value !== undefined) options.set(name, value);
  }
  const validator = options.get('validator');
  if (validator instanceof Map && validator.size === 0) options.delete('validator');
  if (['validator', 'validationLevel', 'validationAction'].some((name) => body.has(name))) {
    if (!options.has('validationLevel')) options.set('validationLevel', 'strict');
    if (!options.has('validationAction')) options.set('validationAction', 'error');
  }
  changeExpiry(options, body.get('expireAfterSeconds'));
  changeCap(collection, options, body, version);
  collection.options = inOptionOrder(options);
}

/** The age at which a clustered collection's documents expire. `off` disables it. */
function changeExpiry(options: Doc, seconds: Value | undefined): void {
  if (seconds === undefined) return;
  if (!options.has('clusteredIndex')) {
    throw failure.invalidOptions("'expireAfterSeconds' option is only supported on collections clustered by _id");
  }
  if (seconds === 'off') options.delete('expireAfterSeconds');
  else options.set('expireAfterSeconds', seconds);
}

/**
 * New limits of a capped collection. The next insert deletes what exceeds them (manual: `collMod`, "Resize a Capped
 * Collection").
 */
function changeCap(collection: Collection, options: Doc, body: Doc, version: ServerVersion): void {
  const size = numberOf(body.get('cappedSize'));
  const max = numberOf(body.get('cappedMax'));
  if (size === undefined && max === undefined) return;
  if (collection.cap === undefined) throw failure.invalidOptions('Collection must be capped.');
  if (size !== undefined) {
    if (size <= 0) throw failure.invalidOptions('Capped collection size must be greater than zero');
    options.set('size', wholeNumber(cappedSizeBytes(size, version)));
  }
  if (max !== undefined && max > 0) options.set('max', wholeNumber(max));
  else if (max !== undefined) options.delete('max');
  collection.cap = {
    bytesMax: numberOf(options.get('size')) ?? Infinity,
    documentsMax: numberOf(options.get('max')) ?? Infinity,
  };
}
