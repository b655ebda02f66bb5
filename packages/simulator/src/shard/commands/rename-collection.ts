import { randomBytes } from 'node:crypto';
import type { Doc } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue, numberOf } from '../../node/doc-fields.js';
import { uuidText } from '../../bson/uuid.js';
import { failure } from '../failure.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { splitNamespace } from '../../node/namespace.js';
import { visibleBytes } from '../storage/record.js';
import { LATEST, timeKey } from '../storage/time-key.js';
import { createCollection, refuseInvalidName } from '../write/collection-access.js';
import { buildIndexes } from '../index-spec/build.js';
import { refuseView } from '../write/refuse-view.js';
import { collectionOptions, inOptionOrder } from './create.js';
import { seriesNamespaceOf } from '../../time-series/bucketing.js';
import { requireExpectedCollection } from './expected-collection.js';
import { dropCollection, killCursorsOf, removeCollection } from './drop.js';
import { targetNamespace, type CommandContext } from './command-context.js';

/** `renameCollection`, also into another database. @throws CommandError 26 or 48 */
export function renameCollection(context: CommandContext): Doc {
  const { state, request } = context;
  const from = request.body.get(request.name);
  const to = request.body.get('to');
  if (typeof from !== 'string' || typeof to !== 'string')
    throw failure.typeMismatch("BSON field 'renameCollection.to' is the wrong type, expected type 'string'");
  refuseInvalidName(to);
  if (from === to) throw new CommandError(20, 'IllegalOperation', "Can't rename a collection to itself");
  if (seriesNamespaceOf(from) !== undefined)
    throw new CommandError(20, 'IllegalOperation', 'Renaming system.buckets collections is not allowed');
  const source = state.catalog.collection(from);
  requireExpectedCollection(context, from, source);
  if (source === undefined) {
    const elsewhere = splitNamespace(from).db !== splitNamespace(to).db && state.version.atLeast(8, 0);
    throw failure.namespaceNotFound(
      elsewhere ? 'source namespace does not exist' : `Source collection ${from} does not exist`,
    );
  }
  const target = state.catalog.collection(to);
  if (target !== undefined && !isTrue(request.body.get('dropTarget')))
    throw failure.namespaceExists('target namespace exists');
  if (state.catalog.view(to) !== undefined)
    throw failure.namespaceExists(`a view already exists with that name: ${to}`);
  for (const each of [source, target]) if (each !== undefined) state.builds.refuseOther(each);
  if (splitNamespace(from).db === splitNamespace(to).db)
    rename(state, source, to, target, isTrue(request.body.get('fromMigrate')));
  else moveToDatabase(state, source, to, target);
  return new Map();
}

/**
 * Renames within a database, with one event. Drops an existing target.
 * @param fromMigrate another shard's event represents it
 */
export function rename(
  state: ShardState,
  source: Collection,
  to: string,
  target: Collection | undefined,
  fromMigrate = false,
): void {
  const from = source.namespace;
  state.writeBlock.refuse(source.db, source.name);
  const clusterTime = state.oplog.nextTime();
  const entryTarget = source.target;
  if (target !== undefined) removeCollection(state, target, timeKey(clusterTime));
  state.catalog.renameCollection(source, to, timeKey(clusterTime));
  killCursorsOf(state, source, `collection renamed from '${from}' to '${to}'. UUID ${uuidText(source.uuid.buffer)}`);
  state.oplog.append(clusterTime, [
    { kind: 'rename', target: entryTarget, to: splitNamespace(to), droppedTarget: target?.uuid, fromMigrate },
  ]);
}

/** Between databases the collection is copied to a temporary one, which is renamed. Then the source is dropped. */
function moveToDatabase(state: ShardState, source: Collection, to: string, target: Collection | undefined): void {
  const { db } = splitNamespace(to);
  const copy = copyOf(state, source, `${db}.tmp${randomName()}.renameCollection`, source.options);
  rename(state, copy, to, target);
  dropCollection(state, source);
}

/** `convertToCapped`: a capped copy replaces the collection, under a new UUID and without its indexes. */
export function convertToCapped(context: CommandContext): Doc {
  const { state, request } = context;
  const namespace = targetNamespace(context);
  if (!state.catalog.hasDatabase(request.db)) throw failure.namespaceNotFound(`database ${request.db} not found`);
  const source = state.catalog.collection(namespace);
  if (source === undefined) refuseView(state, namespace);
  if (source === undefined) throw failure.namespaceNotFound(`source collection ${namespace} does not exist`);
  const size = numberOf(request.body.get('size'));
  if (size === undefined || size <= 0) throw failure.invalidOptions('Capped collection size must be greater than zero');
  const options = inOptionOrder(
    new Map([
      ...source.options,
      ...collectionOptions(
        new Map([
          ['capped', true],
          ['size', request.body.get('size') ?? null],
        ]),
        state.version,
      ),
    ]),
  );
  const name = `${source.db}.tmp${randomName()}.convertToCapped.${source.name}`;
  const isMarked = state.version.atLeast(8, 0);
  const copy = copyOf(
    state,
    source,
    name,
    isMarked ? inOptionOrder(new Map([...options, ['temp', true]])) : options,
    false,
  );
  if (isMarked) copy.options = options;
  rename(state, copy, namespace, source);
  return new Map();
}

/** Copies documents, and by default indexes, into a new collection without events. */
function copyOf(
  state: ShardState,
  source: Collection,
  namespace: string,
  options: Doc,
  withIndexes = true,
): Collection {
  const copy = createCollection(state, namespace, options);
  if (withIndexes)
    buildIndexes(
      state,
      copy,
      source.secondaryIndexes.map(({ definition }) => definition.spec),
    );
  const unit = { time: state.oplog.lastKey, transaction: null };
  for (const record of source.records.ascend()) {
    const bytes = visibleBytes(record, { time: LATEST, transaction: null });
    if (bytes === null) continue;
    copy.insert(bytes, unit);
    for (let oldest = copy.oldestBeyondCap(); oldest !== null; oldest = copy.oldestBeyondCap())
      copy.delete(oldest.record, unit);
  }
  return copy;
}

/** Five characters, as the server names its temporary collections. */
function randomName(): string {
  return randomBytes(4).toString('base64url').slice(0, 5).replace(/[-_]/g, 'x');
}
