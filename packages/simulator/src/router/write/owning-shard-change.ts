import { Int32 } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { compareKeys } from '../../config/shard-key.js';
import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { errorName } from '../../node/error-name.js';
import { collectionOf } from '../../node/namespace.js';
import { compileMatcher } from '../../query/matcher.js';
import { applyUpdate } from '../../update/apply.js';
import type { RouterContext } from '../router-context.js';
import { abortEverywhere, commitEverywhere } from '../transaction-commands.js';

interface Move {
  readonly from: ClusterShard;
  readonly to: ClusterShard;
  readonly id: Doc;
  readonly after: Uint8Array;
}

/**
 * Updates one document so that it belongs to another shard: deleted on the one and inserted on the other, in one transaction.
 * @returns the reply to the statement; undefined when the document stays where it is, and the statement can go to its shard
 * @throws CommandError 20 outside a session with retryable writes or a transaction; 72 in a batch of several statements
 */
export async function changeOwningShard(
  context: RouterContext,
  request: CommandRequest,
  collection: ShardedCollection,
  from: ClusterShard,
  statement: Uint8Array,
  batchSize: number,
): Promise<Doc | undefined> {
  const move = findMove(context, collection, from, decodeDocument(statement));
  if (move === undefined) return undefined;
  if (!request.body.has('txnNumber')) {
    const rule = 'Must run update to shard key field in a multi-statement transaction or with retryWrites: true.';
    throw new CommandError(20, 'IllegalOperation', rule);
  }
  if (batchSize > 1) {
    const rule = 'Document shard key value updates that cause the doc to move shards must be sent with write batch of size 1';
    throw new CommandError(72, 'InvalidOptions', rule);
  }
  await moveDocument(context, request, collection.namespace, move);
  return doc(['n', new Int32(1)], ['nModified', new Int32(1)]);
}

function findMove(context: RouterContext, collection: ShardedCollection, from: ClusterShard, statement: Doc): Move | undefined {
  const filter = docOrEmpty(statement.get('q'));
  const collation = docOf(statement.get('collation')) ?? collection.defaultCollation;
  const matches = compileMatcher(filter, collation === undefined ? undefined : parseCollation(collation));
  const before = documentFor(from, collection.namespace, filter, matches);
  if (before === undefined) return undefined;
  if (collection.chunks.ownerOf(collection.key.keyOf(before)) !== from.id) return undefined;
  const after = updated(before, statement);
  const owner = collection.chunks.ownerOf(collection.key.keyOf(after));
  const unchanged = compareKeys(collection.key.keyOf(before), collection.key.keyOf(after)) === 0;
  if (unchanged || owner === from.id) return undefined;
  refuseDollarFields(decodeDocument(before));
  return { from, to: context.catalog.shard(owner), id: doc(['_id', decodeDocument(before).get('_id') ?? null]), after };
}

/** The server deletes by the whole document as a filter, which fails for field names that begin with a dollar sign. */
function refuseDollarFields(before: Doc): void {
  try {
    compileMatcher(before);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw distributedFailure(error);
  }
}

function documentFor(shard: ClusterShard, namespace: string, filter: Doc, matches: (document: Doc) => boolean): Uint8Array | undefined {
  const id = filter.get('_id');
  if (id !== undefined && !(id instanceof Map)) {
    const found = shard.access.findByKey(namespace, doc(['_id', id]));
    return found !== undefined && matches(decodeDocument(found)) ? found : undefined;
  }
  return shard.access.documents(namespace, (document) => matches(decodeDocument(document)))[0];
}

function updated(before: Uint8Array, statement: Doc): Uint8Array {
  const update = statement.get('u');
  if (!(update instanceof Map) && !Array.isArray(update)) return before;
  const filters = statement.get('arrayFilters');
  const result = applyUpdate(decodeDocument(before), update as Doc | Doc[], {
    query: docOrEmpty(statement.get('q')),
    arrayFilters: Array.isArray(filters) ? (filters as Doc[]) : [],
  });
  return encodeDocument(result.after);
}

/** Deletes and inserts in the client's transaction, or in one of the router's own under the number of the retryable write. */
async function moveDocument(context: RouterContext, request: CommandRequest, namespace: string, move: Move): Promise<void> {
  if (request.body.get('autocommit') === false) {
    await moveInTransaction(context, request, namespace, move);
    return;
  }
  const transaction = context.transactions.begin(request.body);
  try {
    await moveInTransaction(context, request, namespace, move);
    await commitEverywhere(context, request, transaction, doc(['commitTransaction', new Int32(1)], ['autocommit', false]));
  } catch (error) {
    await abortEverywhere(context, request, transaction);
    throw error instanceof CommandError ? distributedFailure(error) : error;
  }
}

async function moveInTransaction(context: RouterContext, request: CommandRequest, namespace: string, move: Move): Promise<void> {
  const coll = collectionOf(namespace);
  const inside = doc(['autocommit', false]);
  const remove = new Map<string, Uint8Array[]>([['deletes', [encodeDocument(doc(['q', move.id], ['limit', new Int32(1)]))]]]);
  refuseErrors(await context.sender.run(move.from, request, new Map([...doc(['delete', coll]), ...inside]), { sequences: remove }));
  const insert = new Map<string, Uint8Array[]>([['documents', [move.after]]]);
  refuseErrors(await context.sender.run(move.to, request, new Map([...doc(['insert', coll]), ...inside]), { sequences: insert }));
}

/** Turns a write error into a failure of the whole. */
function refuseErrors(reply: Doc): void {
  const errors = reply.get('writeErrors');
  const error = Array.isArray(errors) ? docOrEmpty(errors[0]) : undefined;
  if (error === undefined) return;
  const code = numberOf(error.get('code')) ?? 8;
  const extra = new Map([...error].filter(([name]) => !['index', 'code', 'codeName', 'errmsg'].includes(name)));
  throw new CommandError(code, errorName(code), textOrEmpty(error.get('errmsg')), [], extra);
}

const duplicateKeyCode = 11_000;

/** The failure of a move, in the words of the server's router. */
function distributedFailure(error: CommandError): CommandError {
  const duplicate =
    "Failed to update document's shard key field. There is either an orphan for this document or _id for this collection is not globally unique.";
  const converted =
    'Update operation was converted into a distributed transaction because the document being updated would move shards and that transaction failed.';
  const preface = error.code === duplicateKeyCode ? duplicate : converted;
  return new CommandError(error.code, error.codeName, `${preface} :: caused by :: ${error.message}`, error.labels, error.extra);
}
