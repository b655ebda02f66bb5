import { Double, Int32, Long } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import { documentText } from '../../bson/text.js';
import { completeReply, firstBatchReply } from '../cursor/cursor-reply.js';
import { encodeDocument } from '../../bson/encode.js';
import { DocumentSource } from '../read/document-source.js';
import { failure } from '../failure.js';
import { isPresent } from '../index-spec/conflict.js';
import { buildIndexes, refuseUnbuildableTogether } from '../index-spec/build.js';
import { normalizedSpec, refuseInvalidSpecs, resolvedSpec } from '../index-spec/normalize.js';
import { refuseUnbuildable } from '../index-spec/option-rules.js';
import { refusePartialFilter } from '../index-spec/partial-filter.js';
import { dropIndexesOperation } from '../oplog/ddl-operations.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import type { IndexDefinition } from '../storage/collection-index.js';
import { PENDING, timeKey } from '../storage/time-key.js';
import { collectionForWrite } from '../write/collection-access.js';
import { refuseView } from '../write/refuse-view.js';
import { readTarget, sessionText, targetNamespace, type CommandContext } from './command-context.js';
import { requireExpectedCollection } from './expected-collection.js';

/** `createIndexes`: builds missing indexes, and creates a missing collection. */
export function createIndexes(context: CommandContext): Doc | Promise<Doc> {
  const { state, request } = context;
  const collection = state.catalog.collection(targetNamespace(context));
  if (collection !== undefined && state.builds.concern(collection)) return createLater(context, collection);
  if (state.builds.point?.active !== true) return createNow(context);
  return state.builds.pass(request).then(() => state.writeBlock.actAs(request.connection, () => createNow(context)));
}

/** Waits for builds of the same indexes, as servers do, and lets others hang. */
async function createLater(context: CommandContext, collection: Collection): Promise<Doc> {
  const { state, request } = context;
  const finish = (): Doc => state.writeBlock.actAs(request.connection, () => createNow(context));
  const known = collection.options.get('collation');
  const given = request.body.get('indexes');
  const specs = (Array.isArray(given) ? given : [])
    .filter((spec) => spec instanceof Map)
    .map((spec) => checkedSpec(state.features, resolvedSpec(spec, known instanceof Map ? known : undefined)));
  const has = (indexes: readonly Doc[], spec: Doc): boolean =>
    isPresent(state.features, spec, { indexes: indexes.map((one) => ({ definition: { spec: one } })) });
  for (;;) {
    const standing = collection.indexes.map(({ definition }) => definition.spec);
    const missing = specs.filter((spec) => !has(standing, spec));
    const other = state.builds.of(collection).find((build) => missing.some((spec) => has(build.specs, spec)));
    if (other === undefined)
      return missing.length === 0 ? finish() : state.builds.run(collection, missing, request, finish);
    await state.builds.untilEnded(other, request);
  }
}

function createNow(context: CommandContext): Doc {
  const { state, request } = context;
  const namespace = targetNamespace(context);
  const given = request.body.get('indexes');
  if (!Array.isArray(given) || given.length === 0) throw failure.badValue('Must specify at least one index to create');
  const described = given.map((spec) => (spec instanceof Map ? spec : new Map<string, Value>()));
  refuseInvalidSpecs(described, expiryMax(state));
  const present = state.catalog.collection(namespace);
  requireExpectedCollection(context, namespace, present);
  if (present === undefined) refuseView(state, namespace);
  const existed = present !== undefined;
  // What only the catalog refuses opens the database of a missing collection.
  if (!existed) state.catalog.openDatabase(request.db);
  const known = present?.options.get('collation');
  const specs = described
    .map((spec) => resolvedSpec(spec, known instanceof Map ? known : undefined))
    .map((spec) => checkedSpec(state.features, spec));
  if (!existed)
    refuseUnbuildableTogether(state.version, state.catalog.scratchCollection(namespace, new Map(), PENDING), specs);
  const collection = collectionForWrite(state, namespace);
  const before = collection.listedIndexes.length;
  buildIndexes(state, collection, specs, { isNew: !existed });
  const after = collection.listedIndexes.length;
  const reply: Doc = new Map<string, Value>([
    ['numIndexesBefore', new Int32(before)],
    ['numIndexesAfter', new Int32(after)],
  ]);
  const note =
    after === before ? 'all indexes already exist' : after < before + specs.length ? 'index already exists' : undefined;
  // Since 8.0 a router creates the collection before.
  const isMade = !existed && !(state.version.atLeast(8, 0) && request.routed !== undefined);
  if (after > before || isMade || (!existed && !state.version.atLeast(8, 0)))
    reply.set('createdCollectionAutomatically', isMade);
  if (after > before || !existed || state.version.atLeast(8, 0))
    reply.set('commitQuorum', request.body.get('commitQuorum') ?? 'votingMembers');
  return note === undefined ? reply : reply.set('note', note);
}

function checkedSpec(version: ServerVersion, resolved: Doc): Doc {
  refuseUnbuildable(resolved, resolved.get('key') as Doc);
  refuseForeignOptions(version, resolved);
  const partial = resolved.get('partialFilterExpression');
  if (partial !== undefined) refusePartialFilter(partial, resolved, version);
  return withLegalExpiry(version, normalizedSpec(resolved, version));
}

/**
 * Seconds that are no number count as 0 in 5.0 (up to 5.0.13 and 6.0.1). Later servers store a value that never expires
 * (SERVER-68477).
 */
function withLegalExpiry(version: ServerVersion, spec: Doc): Doc {
  if (!Number.isNaN(numberOf(spec.get('expireAfterSeconds')) ?? 0) || !version.atLeast(5, 0)) return spec;
  return spec.set('expireAfterSeconds', new Int32(version.atLeast(6, 0) ? INT_MAX : 0));
}

/**
 * Until 5.0 an index cannot reach back before 1970. Later any int is valid (server source:
 * `validateExpireAfterSeconds`).
 */
function expiryMax(state: ShardState): number {
  return state.version.atLeast(6, 0) ? INT_MAX : Math.floor(state.now() / 1000);
}

const INT_MAX = 2_147_483_647;

/** Options of indexes that 6.0 added. @throws CommandError 197 in earlier releases */
function refuseForeignOptions(version: ServerVersion, spec: Doc): void {
  const foreign = version.atLeast(6, 0) ? undefined : ['prepareUnique', 'clustered'].find((option) => spec.has(option));
  if (foreign === undefined) return;
  throw new CommandError(
    197,
    'InvalidIndexSpecificationOption',
    `Error in specification ${documentText(spec)} :: caused by :: The field '${foreign}' is not valid for an ` +
      `index specification. Specification: ${documentText(spec)}`,
  );
}

/** `dropIndexes`: by name, by key, several names, or `*` for all but `_id_`. */
export function dropIndexes(context: CommandContext): Doc | Promise<Doc> {
  const { state, request } = context;
  const namespace = targetNamespace(context);
  const collection = state.catalog.collection(namespace);
  requireExpectedCollection(context, namespace, collection);
  refuseView(state, namespace);
  if (collection === undefined) throw failure.namespaceNotFound(`ns not found ${namespace}`);
  const was = collection.listedIndexes.length;
  const wanted = request.body.get('index');
  if (state.builds.of(collection).length > 0) return dropBuilds(context, collection, wanted);
  const reply: Doc = new Map<string, Value>([['nIndexesWas', new Int32(was)]]);
  if (wanted === '*') {
    removeIndexes(
      state,
      collection,
      collection.secondaryIndexes.map(({ definition }) => definition.name),
    );
    return reply.set('msg', 'non-_id indexes dropped for collection');
  }
  const names = Array.isArray(wanted)
    ? wanted.map((name) => indexNamed(collection, name))
    : [indexNamed(collection, wanted)];
  removeIndexes(state, collection, names);
  return reply;
}

/** Ends builds, if the command means all indexes of theirs. @throws CommandError 12587 for other indexes meanwhile */
async function dropBuilds(context: CommandContext, collection: Collection, wanted: Value | undefined): Promise<Doc> {
  const { state, request } = context;
  const names = wanted === '*' ? wanted : Array.isArray(wanted) ? wanted : [wanted ?? null];
  const was = collection.listedIndexes.length + state.builds.of(collection).flatMap(({ specs }) => specs).length;
  // Seen on 5.0.7 and 8.0.10; from which release on it is named is not known.
  const reason = state.version.atLeast(6, 0) ? 'dropIndexes command' : 'operation was interrupted';
  const isDropped = await state.builds.drop(collection, names, reason);
  state.builds.refuseOther(collection);
  if (isDropped && names !== '*') return new Map<string, Value>([['nIndexesWas', new Int32(was)]]);
  return state.writeBlock.actAs(request.connection, () => dropIndexes(context));
}

function indexNamed(collection: Collection, wanted: Value | undefined): string {
  const found = collection.indexes.find(({ definition }) => isNamed(definition.spec, wanted));
  if (found !== undefined) return refuseIdIndex(found.definition);
  const shown =
    wanted instanceof Map
      ? `can't find index with key: ${documentText(wanted)}`
      : `index not found with name [${typeof wanted === 'string' ? wanted : ''}]`;
  throw new CommandError(27, 'IndexNotFound', shown);
}

/** Whether `dropIndexes` means an index: by its name, or by its key. */
export function isNamed(spec: Doc, wanted: Value | undefined): boolean {
  if (!(wanted instanceof Map)) return spec.get('name') === wanted;
  return encodeDocument(spec.get('key') as Doc).equals(encodeDocument(wanted));
}

function refuseIdIndex({ name, spec }: IndexDefinition): string {
  if (spec.get('clustered') === true)
    throw new CommandError(5979800, 'Location5979800', 'It is illegal to drop the clusteredIndex');
  if (name === '_id_') throw failure.invalidOptions('cannot drop _id index');
  return name;
}

function removeIndexes(state: ShardState, collection: Collection, names: readonly string[]): void {
  if (names.length > 0) state.writeBlock.refuse(collection.db, collection.name);
  for (const name of names) {
    const clusterTime = state.oplog.nextTime();
    const dropped = collection.secondaryIndexes.find(({ definition }) => definition.name === name);
    if (dropped === undefined) continue;
    collection.dropIndex(dropped, timeKey(clusterTime));
    state.oplog.append(clusterTime, [dropIndexesOperation(collection, dropped.definition.spec)]);
  }
}

/**
 * `listIndexes`: descriptions in the order of creation.
 * @throws CommandError 26 for a missing collection, 166 for a view
 */
export function listIndexes(context: CommandContext): Doc | Promise<Doc> {
  const { state, request } = context;
  const { namespace, collection } = readTarget(context);
  refuseView(state, namespace);
  if (collection === undefined) throw failure.namespaceNotFound(`ns does not exist: ${namespace}`);
  const shown = (spec: Doc): Doc => inListOrder(state.version, listedSpec(spec));
  const showsBuilds = isTrue(request.body.get('includeBuildUUIDs'));
  const building = state.builds.of(collection).flatMap((build) =>
    build.specs.map((spec): Doc => {
      if (!showsBuilds) return shown(spec);
      return new Map<string, Value>([
        ['spec', shown(spec)],
        ['buildUUID', build.uuid],
      ]);
    }),
  );
  const specs = [...collection.listedIndexes.map(({ definition }) => shown(definition.spec)), ...building];
  const cursorOptions = request.body.get('cursor');
  const batchSize = cursorOptions instanceof Map ? numberOf(cursorOptions.get('batchSize')) : undefined;
  if (batchSize === undefined || specs.length <= batchSize) return completeReply(specs, namespace);
  const source = new DocumentSource(specs.map(encodeDocument).values(), state.history, undefined);
  const owner = { namespace, collectionUuid: collection.uuid.toString('hex'), session: sessionText(context) };
  const options = { batchSize, singleBatch: false, maxTimeMs: undefined, signal: request.signal };
  return firstBatchReply(state.cursors, source, owner, options);
}

/** Order of a description's fields in lists since 5.0. Others follow in stored order. */
const listOrder = [
  'v',
  'key',
  'name',
  'background',
  'unique',
  'hidden',
  'partialFilterExpression',
  'sparse',
  'expireAfterSeconds',
  'storageEngine',
  'weights',
  'default_language',
  'language_override',
  'textIndexVersion',
  '2dsphereIndexVersion',
  'bits',
  'min',
  'max',
  'bucketSize',
  'collation',
  'wildcardProjection',
];

function inListOrder(version: ServerVersion, spec: Doc): Doc {
  if (!version.atLeast(5, 0)) return spec;
  const placeOf = (name: string): number => (listOrder.includes(name) ? listOrder.indexOf(name) : listOrder.length);
  return new Map([...spec].sort(([a], [b]) => placeOf(a) - placeOf(b)));
}

/** `expireAfterSeconds` is stored as a double or, by `collMod`, as a long. Lists show it as an int where it fits. */
export function listedSpec(spec: Doc): Doc {
  const given = spec.get('expireAfterSeconds');
  const seconds = given instanceof Long || given instanceof Double ? Math.trunc(numberOf(given) ?? 0) : undefined;
  return seconds === undefined || seconds !== (seconds | 0)
    ? spec
    : new Map(spec).set('expireAfterSeconds', new Int32(seconds));
}
