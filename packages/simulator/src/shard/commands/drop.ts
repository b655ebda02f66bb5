import { Int32 } from 'bson';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { isTrue } from '../../node/doc-fields.js';
import { uuidText } from '../../bson/uuid.js';
import { failure } from '../failure.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { timeKey, type TimeKey } from '../storage/time-key.js';
import { forgetView } from '../write/view-catalog.js';
import { requireExpectedCollection } from './expected-collection.js';
import { hasPointInTimeCatalog, targetNamespace, type CommandContext } from './command-context.js';

/** `drop`: a collection or a view. @throws CommandError 26 when there is none */
export function drop(context: CommandContext): Doc {
  const { state } = context;
  const namespace = targetNamespace(context);
  const collection = state.catalog.collection(namespace);
  requireExpectedCollection(context, namespace, collection);
  const view = state.catalog.view(namespace);
  if (view !== undefined) {
    forgetView(state, namespace);
    if (view.type === 'timeseries') dropBuckets(state, namespace, view.viewOn);
    return new Map<string, Value>([['ns', namespace]]);
  }
  if (collection === undefined) {
    if (state.version.atLeast(8, 0)) return new Map();
    throw failure.namespaceNotFound('ns not found');
  }
  const reply: Doc = new Map<string, Value>([
    ['nIndexesWas', new Int32(collection.listedIndexes.length)],
    ['ns', namespace],
  ]);
  dropCollection(state, collection, isTrue(context.request.body.get('fromMigrate')));
  return reply;
}

/** Drops a collection with its event, and closes its cursors. @param fromMigrate another shard's event represents it */
export function dropCollection(state: ShardState, collection: Collection, fromMigrate = false): void {
  state.writeBlock.refuse(collection.db, collection.name);
  state.builds.forget(collection);
  const clusterTime = state.oplog.nextTime();
  removeCollection(state, collection, timeKey(clusterTime));
  state.oplog.append(clusterTime, [{ kind: 'drop', target: collection.target, fromMigrate }]);
}

/** Removes a collection from the catalog without an event. */
export function removeCollection(state: ShardState, collection: Collection, time: TimeKey): void {
  state.catalog.removeCollection(collection, time);
  killCursorsOf(state, collection, `collection dropped. UUID ${uuidText(collection.uuid.buffer)}`);
}

/**
 * Closes the cursors of a collection. Their next getMore fails with this message. Since 7.0 those that read at a time
 * stay open.
 */
export function killCursorsOf(state: ShardState, collection: Collection, message: string): void {
  const sparesAtTime = hasPointInTimeCatalog(state.version);
  state.cursors.killByCollection(
    collection.uuid.toString('hex'),
    new CommandError(175, 'QueryPlanKilled', message),
    sparesAtTime,
  );
}

function dropBuckets(state: ShardState, namespace: string, buckets: string): void {
  const collection = state.catalog.collection(`${namespace.slice(0, namespace.indexOf('.'))}.${buckets}`);
  if (collection !== undefined) dropCollection(state, collection);
}

/** `dropDatabase`: a drop for each collection, newest first, then the event of the database. */
export function dropDatabase({ state, request }: CommandContext): Doc {
  const { db } = request;
  state.catalog.removeDatabase(db);
  const collections = state.catalog.collectionsOf(db);
  if (state.version.atLeast(8, 0)) state.writeBlock.refuse(db);
  if (collections.length === 0) return new Map();
  state.writeBlock.refuse(db);
  for (const view of state.catalog.viewsOf(db)) state.catalog.removeView(view.namespace);
  for (const collection of collections.reverse()) dropCollection(state, collection);
  const clusterTime = state.oplog.nextTime();
  state.oplog.append(clusterTime, [{ kind: 'dropDatabase', db }]);
  return new Map();
}
