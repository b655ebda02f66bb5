import { documentText } from '../../bson/text.js';
import { Int32 } from 'bson';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { decodeDocument } from '../../bson/decode.js';
import { encodeDocument } from '../../bson/encode.js';
import { RawDocument, type Doc } from '../../bson/value.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOrEmpty, isTrue, numberOf, textOrEmpty } from '../../node/doc-fields.js';
import { errorName } from '../../node/error-name.js';
import { collectionOf } from '../../node/namespace.js';
import { compileMatcher } from '../../query/matcher.js';
import type { RouterContext } from '../router-context.js';
import type { RoutingPicture } from '../target/routing-table.js';
import { isStale, ConvertedUpdateError } from '../target/stale-routing.js';
import { abortEverywhere, commitEverywhere } from '../transaction-commands.js';

/** Code of an update that its shard cannot run, because the document would belong to another one. */
export const wouldChangeOwningShard = 283;

interface Move {
  readonly from: ClusterShard;
  readonly to: ClusterShard;
  /** The routing that chose `to`. */
  readonly picture: RoutingPicture;
  readonly id: Doc;
  readonly after: Uint8Array;
  /** True for an upsert that found no document. */
  readonly isNew: boolean;
}

/**
 * Moves one document to another shard by an update: deletes it on one and inserts it on the other, in one transaction.
 * @param images from the shard's refusal: `preImage` and `postImage`
 * @throws CommandError 72 in a batch of several statements, and the failures of the transaction
 */
export async function changeOwningShard(
  context: RouterContext,
  request: CommandRequest,
  collection: ShardedCollection,
  from: ClusterShard,
  images: Doc,
  batchSize: number,
): Promise<void> {
  if (batchSize > 1) {
    const rule =
      'Document shard key value updates that cause the doc to move shards must be sent with write batch of size 1';
    throw new CommandError(72, 'InvalidOptions', rule);
  }
  const before = imageOf(images, 'preImage');
  const after = encodeDocument(imageOf(images, 'postImage'));
  const isNew = isTrue(images.get('shouldUpsert'));
  if (!isNew) refuseDollarFields(before);
  const to = context.catalog.shard(collection.chunks.ownerOf(collection.key.keyOf(after), collection));
  await moveDocument(context, request, collection.namespace, {
    from,
    to,
    picture: { namespace: collection.namespace, collection },
    id: doc(['_id', before.get('_id') ?? null]),
    after,
    isNew,
  });
}

/** An image that a shard sent with its refusal. */
export function imageOf(images: Doc, name: 'preImage' | 'postImage'): Doc {
  const image = images.get(name);
  return image instanceof RawDocument ? decodeDocument(image.bytes) : docOrEmpty(image);
}

/**
 * The server deletes with the whole document as a filter, which fails for field names that start with a dollar sign.
 */
function refuseDollarFields(before: Doc): void {
  try {
    compileMatcher(before);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw distributedFailure(error);
  }
}

/** Deletes and inserts in the client's transaction, or in the router's own under the number of the retryable write. */
async function moveDocument(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  move: Move,
): Promise<void> {
  if (request.body.get('autocommit') === false) {
    await moveInTransaction(context, request, namespace, move);
    return;
  }
  const transaction = context.transactions.begin(request.body);
  try {
    await moveInTransaction(context, request, namespace, move);
    await commitEverywhere(
      context,
      request,
      transaction,
      doc(['commitTransaction', new Int32(1)], ['autocommit', false]),
    );
  } catch (error) {
    await abortEverywhere(context, request, transaction);
    if (isStale(error)) context.routing.forget(namespace);
    throw error instanceof CommandError ? distributedFailure(error) : error;
  }
}

async function moveInTransaction(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  move: Move,
): Promise<void> {
  const coll = collectionOf(namespace);
  const inside = doc(['autocommit', false]);
  const remove = new Map<string, Uint8Array[]>([
    ['deletes', [encodeDocument(doc(['q', move.id], ['limit', new Int32(1)]))]],
  ]);
  if (!move.isNew) {
    const removed = await context.sender.run(move.from, request, new Map([...doc(['delete', coll]), ...inside]), {
      sequences: remove,
      picture: move.picture,
    });
    refuseErrors(removed, context.version.atLeast(8, 0) ? failedDelete(move.id) : '');
  }
  const insert = new Map<string, Uint8Array[]>([['documents', [move.after]]]);
  refuseErrors(
    await context.sender.run(move.to, request, new Map([...doc(['insert', coll]), ...inside]), {
      sequences: insert,
      picture: move.picture,
    }),
  );
}

/** The words of 8.0 before a failure of the delete, which only its query can have outside of conflicts. */
function failedDelete(query: Doc): string {
  const stage = 'During delete stage of updating a shard key';
  return `${stage} :: caused by :: Could not parse delete query ${documentText(query)} :: caused by :: `;
}

/** Turns a write error into a failure of the whole. */
function refuseErrors(reply: Doc, preface = ''): void {
  const errors = reply.get('writeErrors');
  const error = Array.isArray(errors) ? docOrEmpty(errors[0]) : undefined;
  if (error === undefined) return;
  const code = numberOf(error.get('code')) ?? 8;
  const extra = new Map([...error].filter(([name]) => !['index', 'code', 'codeName', 'errmsg'].includes(name)));
  throw new CommandError(code, errorName(code), preface + textOrEmpty(error.get('errmsg')), [], extra);
}

const duplicateKeyCode = 11_000;

/** The failure of a move, in the words of the server's router. */
function distributedFailure(error: CommandError): ConvertedUpdateError {
  const duplicate =
    "Failed to update document's shard key field. There is either an orphan for this document or _id for this " +
    'collection is not globally unique.';
  const converted =
    'Update operation was converted into a distributed transaction because the document being updated would ' +
    'move shards and that transaction failed.';
  const preface = error.code === duplicateKeyCode ? duplicate : converted;
  return new ConvertedUpdateError(
    error.code,
    error.codeName,
    `${preface} :: caused by :: ${error.message}`,
    error.labels,
    error.extra,
  );
}
