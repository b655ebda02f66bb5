import type { Doc } from '../../bson/value.js';
import { documentText } from '../../bson/text.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { createIndexesOperation } from '../oplog/ddl-operations.js';
import type { RunningTransaction } from '../session/running-transaction.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { PENDING, timeKey, type TimeKey } from '../storage/time-key.js';
import { makeUuid, uuidText } from '../../bson/uuid.js';
import { isPresent, shownSpec } from './conflict.js';
import { indexDefinition } from './definition.js';

/** Indexes of one collection at most (manual, "MongoDB Limits"). */
const INDEXES_MAX = 64;

/** How indexes are built. */
interface BuildOptions {
  /** True for indexes that come with a chunk. Streams do not show them. */
  readonly fromMigrate?: boolean;
  /** True for a collection that the same command has created: its failures carry no prefix. */
  readonly isNew?: boolean;
}

/**
 * Builds the missing indexes: all of them or, when one fails, none.
 * @param specs complete descriptions
 * @throws CommandError for conflicts and, prefixed by `Index build failed`, for failures of the build
 */
export function buildIndexes(
  state: ShardState,
  collection: Collection,
  specs: readonly Doc[],
  { fromMigrate = false, isNew = false }: BuildOptions = {},
): void {
  const missing = specs.filter((spec) => !isIdKey(spec) && !isPresent(state.features, spec, collection));
  if (missing.length > 0) state.writeBlock.refuse(collection.db, collection.name);
  if (missing.length > 0 && state.transaction !== undefined) refuseInTransaction(collection, state.transaction);
  const before = collection.secondaryIndexes.length;
  const attempt: Attempt = {
    uuid: uuidText(makeUuid().buffer),
    specs: missing,
    over: isNew ? 'new' : collection.documentCount === 0 ? 'empty' : 'documents',
  };
  try {
    for (const spec of missing)
      buildIndex(
        state.version,
        collection,
        spec,
        attempt,
        state.transaction === undefined ? timeKey(state.oplog.nextTime()) : PENDING,
      );
    noteIndexes(state, collection, missing, fromMigrate);
  } catch (error) {
    collection.secondaryIndexes.splice(before);
    if (!(error instanceof CommandError) || isNew) throw error;
    const at =
      `Index build failed: ${attempt.uuid}: Collection ${collection.namespace} ( ` +
      `${uuidText(collection.uuid.buffer)} )`;
    const how =
      attempt.over === 'empty' ? ` :: caused by :: index build on empty collection failed: ${attempt.uuid}` : '';
    throw new CommandError(
      error.code,
      error.codeName,
      `${at}${how} :: caused by :: ${error.message}`,
      error.labels,
      error.extra,
    );
  }
}

/**
 * Refuses indexes that could not be built together on a new collection.
 * @param scratch one like it, which nobody sees
 */
export function refuseUnbuildableTogether(version: ServerVersion, scratch: Collection, specs: readonly Doc[]): void {
  for (const spec of specs.filter((each) => !isIdKey(each)))
    buildIndex(version, scratch, spec, { uuid: '', specs, over: 'new' }, PENDING);
}

/** One build of indexes. */
interface Attempt {
  readonly uuid: string;
  readonly specs: readonly Doc[];
  /** A new collection, an empty one, or one with documents: each is built and logged in its own way. */
  readonly over: 'new' | 'empty' | 'documents';
}

/** @throws CommandError 68, or 96 over documents, for an index that the same command has created */
function buildIndex(version: ServerVersion, collection: Collection, spec: Doc, attempt: Attempt, time: TimeKey): void {
  refuseSecondText(collection, spec);
  if (isPresent(version, spec, collection)) {
    if (attempt.over === 'documents')
      throw new CommandError(
        96,
        'OperationFailed',
        'Cannot build two identical indexes. Try again without duplicate indexes.',
      );
    throw new CommandError(
      68,
      'IndexAlreadyExists',
      `Identical index already exists: ${textOrEmpty(spec.get('name'))}`,
    );
  }
  refuseHashes(collection, spec, attempt);
  if (collection.indexes.length >= INDEXES_MAX) {
    throw new CommandError(
      67,
      'CannotCreateIndex',
      `add index fails, too many indexes for ${collection.namespace} key:${documentText(spec.get('key') as Doc)}`,
    );
  }
  collection.addIndex(indexDefinition(spec, version), time);
}

/** Indexes of an empty collection have one entry each. A build over documents has one entry. */
function noteIndexes(state: ShardState, collection: Collection, specs: readonly Doc[], fromMigrate: boolean): void {
  const groups = collection.documentCount === 0 ? specs.map((spec) => [spec]) : specs.length === 0 ? [] : [specs];
  for (const group of groups) {
    const operation = createIndexesOperation(
      collection,
      state.version.atLeast(8, 0) ? group.map(shownSpec) : group,
      fromMigrate,
    );
    if (state.transaction === undefined) state.oplog.append(state.oplog.nextTime(), [operation]);
    else state.transaction.operations.push(operation);
  }
}

/** A transaction creates indexes only on empty collections that it has created itself. @throws CommandError 263 */
function refuseInTransaction(collection: Collection, { created, operations }: RunningTransaction): void {
  const isNew = created.get(collection.namespace) === collection;
  const isEmpty = !operations.some(({ kind, target }) => kind !== 'definition' && target === collection.target);
  if (isNew && isEmpty) return;
  const which = isNew ? 'non-empty' : 'existing';
  const message =
    `Cannot create new indexes on ${which} collection ${collection.namespace} ` + 'in a multi-document transaction.';
  throw new CommandError(263, 'OperationNotSupportedInTransaction', message);
}

function isIdKey(spec: Doc): boolean {
  const key = spec.get('key');
  return key instanceof Map && key.size === 1 && numberOf(key.get('_id')) === 1;
}

/** A collection has at most one text index. */
function refuseSecondText(collection: Collection, spec: Doc): void {
  const isText = (description: Doc): boolean => description.has('textIndexVersion');
  const existing = collection.indexes.find(({ definition }) => isText(definition.spec));
  if (!isText(spec) || existing === undefined) return;
  throw new CommandError(
    85,
    'IndexOptionsConflict',
    'An equivalent index already exists with a different name and options. Requested index: ' +
      `${documentText(spec)}, existing index: ${documentText(existing.definition.spec)}`,
  );
}

/** @throws CommandError 31303 or 16764 for unsupported hashed indexes */
function refuseHashes(collection: Collection, spec: Doc, { uuid, specs, over }: Attempt): void {
  const refusal = hashesRefusal(spec);
  if (refusal === undefined) return;
  const shown = documentText(shownSpec(specs[0] ?? spec));
  const place =
    `on namespace${collection.namespace} (${uuidText(collection.uuid.buffer)}). ${specs.length} index specs ` +
    `provided. First index spec: ${shown}`;
  const preface =
    over === 'documents'
      ? `Caught exception during index builder (${uuid}) initialization ${place} :: caused by :: `
      : '';
  throw new CommandError(refusal.code, refusal.codeName, preface + refusal.message);
}

function hashesRefusal(spec: Doc): CommandError | undefined {
  const key = spec.get('key');
  const hashed = key instanceof Map ? [...key.values()].filter((order) => order === 'hashed').length : 0;
  if (hashed > 1) {
    return new CommandError(
      31303,
      'Location31303',
      `A maximum of one index field is allowed to be hashed but found ${hashed} for 'key' ${documentText(key as Doc)}`,
    );
  }
  if (hashed === 0 || !isTrue(spec.get('unique'))) return undefined;
  return new CommandError(
    16764,
    'Location16764',
    'Currently hashed indexes cannot guarantee uniqueness. Use a regular index.',
  );
}
