import { Int32 } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { compareKeys } from '../../config/shard-key.js';
import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import type { Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty } from '../../node/doc-fields.js';
import { collectionOf } from '../../node/namespace.js';
import { compileMatcher } from '../../query/matcher.js';
import { applyUpdate } from '../../update/apply.js';
import type { RouterContext } from '../router-context.js';

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
    const preface = 'Update operation was converted into a distributed transaction because the document being updated would move shards and that transaction failed.';
    throw new CommandError(error.code, error.codeName, `${preface} :: caused by :: ${error.message}`);
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

async function moveDocument(context: RouterContext, request: CommandRequest, namespace: string, move: Move): Promise<void> {
  const own = request.body.get('autocommit') !== false;
  const coll = collectionOf(namespace);
  const fields = own ? doc(['autocommit', false], ['startTransaction', true]) : doc();
  const remove = new Map<string, Uint8Array[]>([['deletes', [encodeDocument(doc(['q', move.id], ['limit', new Int32(1)]))]]]);
  await context.sender.run(move.from, request, new Map([...doc(['delete', coll]), ...fields]), { sequences: remove });
  const insert = new Map<string, Uint8Array[]>([['documents', [move.after]]]);
  await context.sender.run(move.to, request, new Map([...doc(['insert', coll]), ...fields]), { sequences: insert });
  if (!own) return;
  for (const shard of [move.from, move.to].sort((a, b) => (a.id < b.id ? -1 : 1))) {
    await context.sender.run(shard, request, doc(['commitTransaction', new Int32(1)], ['autocommit', false]), { db: 'admin' });
  }
  context.transactions.end(request.body);
}
