import { Int32, Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { encodeDocument } from '../../bson/encode.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { compileMatcher } from '../../query/matcher.js';
import { completeCollation, readCollation } from '../collation-spec.js';
import { documentText } from '../../bson/text.js';
import { failure } from '../failure.js';
import { refuseIdDescription } from '../index-spec/option-rules.js';
import type { ShardState } from '../shard-state.js';
import { createCollection, refuseInvalidName } from '../write/collection-access.js';
import { seriesNamespaceOf } from '../../time-series/bucketing.js';
import { createTimeSeries, restoreBuckets } from '../time-series/create-series.js';
import { storeView, viewsCollection } from '../write/view-catalog.js';
import { clusteredIndexOption } from './clustered-index.js';
import { refuseUnknownEngines } from './storage-options.js';
import { refuseUnknownFields, targetNamespace, type CommandContext } from './command-context.js';

const fieldsOf44 = [
  'capped',
  'autoIndexId',
  'idIndex',
  'size',
  'max',
  'storageEngine',
  'validator',
  'validationLevel',
  'validationAction',
  'indexOptionDefaults',
  'viewOn',
  'pipeline',
  'collation',
  'recordPreImages',
  'temp',
  'flags',
];
const fieldsOf50 = [...fieldsOf44, 'timeseries', 'expireAfterSeconds', 'clusteredIndex'];
const fieldsSince60 = [
  ...fieldsOf50.filter((name) => name !== 'recordPreImages'),
  'changeStreamPreAndPostImages',
  'encryptedFields',
];
/** Options that are kept as they were given. */
const KEPT: readonly string[] = [
  'storageEngine',
  'indexOptionDefaults',
  'validator',
  'validationLevel',
  'validationAction',
  'recordPreImages',
  'changeStreamPreAndPostImages',
  'encryptedFields',
  'temp',
];
/** Sizes of capped collections are rounded up to multiples of this. */
const CAPPED_SIZE_STEP_BYTES = 256;
const VIEW_DEPTH_MAX = 20;

/** `create`: a collection, a view or a time-series collection. */
export function create(context: CommandContext): Doc {
  const { state, request } = context;
  refuseUnknownFields(context, new Set(fieldsOf(state.features)));
  const namespace = targetNamespace(context);
  refuseInvalidName(namespace);
  const { body } = request;
  if (body.has('pipeline') && !body.has('viewOn'))
    throw failure.invalidOptions("'pipeline' requires 'viewOn' to also be specified");
  refuseUnknownValidation('create', body);
  refuseIdIndex(body);
  if (body.has('timeseries')) {
    if (seriesNamespaceOf(namespace) === undefined) createTimeSeries(state, namespace, body);
    else restoreBuckets(state, namespace, body);
    return new Map();
  }
  const clustered = clusteredIndexOption(state.features, body);
  if (body.has('viewOn')) return createView(state, namespace, body);
  const options = newOptions(state, namespace, request);
  addClustering(options, clustered, body);
  if (sameAsExisting(state, namespace, options)) return new Map();
  state.catalog.openDatabase(request.db);
  refuseInvalidValidator(body, state.version);
  createCollection(state, namespace, options);
  return new Map();
}

/** Checks `create.idIndex`, which cannot add anything. @throws CommandError 2, 9, 14, 72 or 197 */
function refuseIdIndex(body: Doc): void {
  const described = body.get('idIndex');
  if (!(described instanceof Map)) return;
  if (body.has('viewOn'))
    throw failure.invalidOptions(`'idIndex' is not allowed with 'viewOn': ${documentText(described)}`);
  refuseIdDescription(described);
  const own = described.get('collation');
  if (!(own instanceof Map)) return;
  const [ofIndex, ofCollection] = [completeCollation(own), createdCollation(body)].map((collation) =>
    collation === undefined ? '' : documentText(collation),
  );
  if (ofIndex !== ofCollection) throw failure.badValue("'idIndex' must have the same collation as the collection.");
}

function fieldsOf(version: ServerVersion): readonly string[] {
  if (version.atLeast(6, 0)) return fieldsSince60;
  return version.atLeast(5, 0) ? fieldsOf50 : fieldsOf44;
}

/** An existing collection is reported before an invalid collation, which opens its database. @throws CommandError 48 */
function newOptions(state: ShardState, namespace: string, { db, body }: CommandRequest): Doc {
  try {
    return collectionOptions(body, state.version);
  } catch (error) {
    if (!(error instanceof CommandError) || error.codeName !== 'BadValue') throw error;
    state.catalog.openDatabase(db);
    if (state.catalog.collection(namespace) === undefined) throw error;
    throw failure.namespaceExists(`Collection already exists. NS: ${namespace}`);
  }
}

/** Only time-series and clustered collections let documents expire without an index. */
function addClustering(options: Doc, clustered: Doc | undefined, body: Doc): void {
  const seconds = body.get('expireAfterSeconds');
  if (clustered !== undefined) options.set('clusteredIndex', clustered);
  if (seconds === undefined) return;
  if (clustered === undefined) {
    throw failure.invalidOptions(
      "'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option " +
        'is specified',
    );
  }
  options.set('expireAfterSeconds', Long.fromNumber(numberOf(seconds) ?? 0));
}

/**
 * The options of a collection as in `listCollections`.
 * @throws CommandError 14832 for a capped one without size; as `refuseUnknownEngines`
 */
export function collectionOptions(body: Doc, version: ServerVersion): Doc {
  refuseUnknownEngines(body);
  const options: Doc = new Map();
  if (isTrue(body.get('capped'))) {
    const size = numberOf(body.get('size'));
    if (size !== undefined && size < 1)
      throw new CommandError(51024, 'Location51024', `BSON field 'size' value must be >= 1, actual value '${size}'`);
    if (size === undefined) throw new CommandError(14832, 'Location14832', 'specify size:<n> when capped is true');
    options.set('capped', true);
    options.set('size', wholeNumber(cappedSizeBytes(size, version)));
    const max = numberOf(body.get('max'));
    if (max !== undefined && max > 0) options.set('max', wholeNumber(max));
  } else if (body.has('size') && numberOf(body.get('size')) !== 0) {
    throw failure.invalidOptions(
      "the 'capped' field needs to be true when either the 'size' or 'max' fields are present",
    );
  }
  for (const option of KEPT) {
    const value = body.get(option);
    if (value !== undefined && !(option === 'validator' && value instanceof Map && value.size === 0))
      options.set(option, value);
  }
  const collation = createdCollation(body);
  if (collation !== undefined) options.set('collation', collation);
  return inOptionOrder(options);
}

/** The order of options in catalogs, of collections and views. */
const optionOrder = [
  'capped',
  'size',
  'max',
  'temp',
  'storageEngine',
  'indexOptionDefaults',
  'validator',
  'validationLevel',
  'validationAction',
  'collation',
  'viewOn',
  'pipeline',
];

/** Options in the catalog's order. Those without a place in it stay after their predecessors. */
export function inOptionOrder(options: Doc): Doc {
  const ordered = optionOrder.filter((name) => options.has(name));
  return new Map(
    [...options.keys()]
      .map((name) => (optionOrder.includes(name) ? (ordered.shift() ?? name) : name))
      .map((name) => [name, options.get(name) ?? null]),
  );
}

/** The whole collation of `create`, whose refusals show it as parsed. @throws CommandError 2, 14, 40414 or 51024 */
function createdCollation(body: Doc): Doc | undefined {
  const given = body.get('collation');
  if (!(given instanceof Map)) return undefined;
  if (!given.has('locale'))
    throw new CommandError(
      40414,
      'Location40414',
      "BSON field 'create.collation.locale' is missing but a required field",
    );
  return completeCollation(given, readCollation(given));
}

const enumerations: Readonly<Record<string, readonly string[]>> = {
  validationLevel: ['off', 'strict', 'moderate'],
  validationAction: ['error', 'warn'],
};

/** @throws CommandError 2 for an unknown level or action of validation */
export function refuseUnknownValidation(command: string, body: Doc): void {
  for (const [name, known] of Object.entries(enumerations)) {
    const value = body.get(name);
    if (typeof value === 'string' && !known.includes(value))
      throw failure.badValue(`Enumeration value '${value}' for field '${command}.${name}' is not a valid value.`);
  }
}

/** @throws CommandError for an invalid validator */
export function refuseInvalidValidator(body: Doc, version: ServerVersion): void {
  const validator = body.get('validator');
  if (validator instanceof Map) compileMatcher(validator, undefined, { version });
}

/** The size of a capped collection for a requested number of bytes. */
/** 8.0 takes it as it is. */
export function cappedSizeBytes(bytes: number, version: ServerVersion): number {
  if (version.atLeast(8, 0)) return bytes;
  return Math.ceil(bytes / CAPPED_SIZE_STEP_BYTES) * CAPPED_SIZE_STEP_BYTES;
}

/** An int where it fits, otherwise a long. */
export function wholeNumber(value: number): Value {
  return value === (value | 0) ? new Int32(value) : Long.fromNumber(value);
}

/** Creating an existing collection with the same options does nothing. */
function sameAsExisting(state: ShardState, namespace: string, options: Doc): boolean {
  if (state.catalog.view(namespace) !== undefined)
    throw failure.namespaceExists(`A view already exists. NS: ${namespace}`);
  const existing = state.catalog.collection(namespace);
  if (existing === undefined) return false;
  if (encodeDocument(existing.options).equals(encodeDocument(options))) return true;
  throw failure.namespaceExists(`Collection already exists. NS: ${namespace}`);
}

function createView(state: ShardState, namespace: string, body: Doc): Doc {
  const { catalog } = state;
  const view = { namespace, ...viewDefinition(body), type: 'view' as const };
  viewsCollection(state, namespace);
  if (catalog.collection(namespace) !== undefined && state.version.atLeast(8, 0))
    throw failure.namespaceExists(`Collection already exists. NS: ${namespace}`);
  if (catalog.collection(namespace) !== undefined)
    throw new CommandError(
      17399,
      'Location17399',
      `Cannot create collection ${namespace} - collection already exists.`,
    );
  if (catalog.view(namespace) !== undefined) throw failure.namespaceExists('Namespace already exists');
  refuseViewStages(view.pipeline);
  refuseCycle(state, namespace, view.viewOn);
  refuseOtherCollation(state, namespace, view);
  storeView(state, view);
  return new Map();
}

/** The view in a `create` or `collMod`. */
export function viewDefinition(body: Doc): { viewOn: string; pipeline: Value[]; options: Doc } {
  const viewOn = body.get('viewOn');
  const pipeline = body.get('pipeline') ?? [];
  if (typeof viewOn !== 'string' || viewOn === '') throw failure.badValue("'viewOn' cannot be empty");
  if (!Array.isArray(pipeline))
    throw failure.typeMismatch("BSON field 'create.pipeline' is the wrong type, expected type 'array'");
  const options: Doc = new Map<string, Value>([
    ['viewOn', viewOn],
    ['pipeline', pipeline],
  ]);
  const collation = createdCollation(body);
  if (collation !== undefined) options.set('collation', collation);
  return { viewOn, pipeline, options };
}

/** Refuses stages that no view may have. @throws CommandError 167 */
export function refuseViewStages(pipeline: readonly Value[]): void {
  for (const stage of pipeline) {
    if (!(stage instanceof Map)) throw failure.typeMismatch("Each element of the 'pipeline' array must be an object");
    const [name] = stage.keys();
    if (name === '$out' || name === '$merge' || name === '$changeStream') {
      throw new CommandError(
        167,
        'OptionNotSupportedOnView',
        `The aggregation stage ${name} cannot be used in a view definition`,
      );
    }
  }
}

/** Refuses a view that would depend on itself. @throws CommandError 5 */
export function refuseCycle(state: ShardState, namespace: string, viewOn: string): void {
  const db = namespace.slice(0, namespace.indexOf('.'));
  const path = [namespace];
  let at: string | undefined = `${db}.${viewOn}`;
  for (let depth = 0; depth < VIEW_DEPTH_MAX && at !== undefined; depth += 1) {
    path.push(at);
    if (at === namespace) {
      throw new CommandError(
        5,
        'GraphContainsCycle',
        `View cycle detected: ${[namespace, ...path.reverse()].join(' => ')}`,
      );
    }
    const next = state.catalog.view(at);
    at = next === undefined ? undefined : `${db}.${next.viewOn}`;
  }
}

function refuseOtherCollation(state: ShardState, namespace: string, view: { viewOn: string; options: Doc }): void {
  const db = namespace.slice(0, namespace.indexOf('.'));
  const below = state.catalog.view(`${db}.${view.viewOn}`);
  if (below === undefined) return;
  const text = (options: Doc): string =>
    encodeDocument(new Map([['', options.get('collation') ?? null]])).toString('latin1');
  if (text(below.options) === text(view.options)) return;
  throw new CommandError(
    167,
    'OptionNotSupportedOnView',
    `View ${namespace} has conflicting collation with view ${below.namespace}`,
  );
}
