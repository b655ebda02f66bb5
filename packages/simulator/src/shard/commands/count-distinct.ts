import { Int32, Long } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { parseCollation } from '../../bson/collation.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { distinctValues } from '../../query/distinct-values.js';
import { failure } from '../failure.js';
import { filteredAccess } from '../read/read-concern.js';
import { queryDocuments, type Query } from '../read/query.js';
import type { Collection } from '../storage/collection.js';
import { viewCollation, viewDocuments, WHOLE_COLLECTION } from './aggregate.js';
import { optionalDoc, readCollection, readPoint, targetNamespace, type CommandContext } from './command-context.js';
import { letVariables } from './let-variables.js';

/** `count`: the number of matching documents, without orphans when a router asks. */
export function count(context: CommandContext): Doc {
  const { state, request, participation } = context;
  const namespace = targetNamespace(context);
  const filter = optionalDoc(context, 'query') ?? new Map<string, Value>();
  const skip = numberOf(request.body.get('skip')) ?? 0;
  const limit = Math.abs(numberOf(request.body.get('limit')) ?? 0);
  if (skip < 0) throw failure.badValue(`BSON field 'skip' value must be >= 0, actual value '${skip}'`);
  const view = state.catalog.view(namespace);
  if (view !== undefined) return countReply(counted(viewDocuments(context, view, [matching(filter)]), skip, limit));
  const collection = state.catalog.collection(namespace);
  if (collection === undefined) return countReply(0);
  if (filter.size === 0 && participation.transaction === null) {
    const n = Math.max(0, collection.documentCount + undecided(context, collection) - skip);
    return countReply(limit > 0 ? Math.min(limit, n) : n);
  }
  return countReply(counted(found(context, collection, filter), skip, limit));
}

/** Inserts minus deletes of running transactions, which the fast count already includes. */
function undecided({ state }: CommandContext, { target: { db, collection } }: Collection): number {
  const operations = state.sessions.runningOn(db, collection).flatMap((running) => running.operations);
  const own = operations.filter(({ target }) => target.db === db && target.collection === collection);
  return own.filter(({ kind }) => kind === 'insert').length - own.filter(({ kind }) => kind === 'delete').length;
}

function counted(documents: Iterable<Doc | Uint8Array | undefined>, skip: number, limit: number): number {
  let n = 0;
  for (const document of documents) {
    if (document === undefined) continue;
    n += 1;
    if (limit > 0 && n - skip >= limit) break;
  }
  return Math.max(0, n - skip);
}

function countReply(n: number): Doc {
  return new Map([['n', n === (n | 0) ? new Int32(n) : Long.fromNumber(n)]]);
}

/** `distinct`: the distinct values of a field in order, array elements one by one. */
export function distinct(context: CommandContext): Doc {
  const { state, request, participation } = context;
  const key = request.body.get('key');
  if (typeof key !== 'string')
    throw failure.typeMismatch("BSON field 'distinct.key' is the wrong type, expected type 'string'");
  const namespace = targetNamespace(context);
  const filter = optionalDoc(context, 'query') ?? new Map<string, Value>();
  const view = state.catalog.view(namespace);
  const collection = readCollection(state, namespace, readPoint(context));
  if (request.routed !== undefined && participation.transaction !== null && collection?.target.shardKey !== undefined) {
    const advice = 'Please see http://dochub.mongodb.org/core/transaction-distinct for a recommended alternative.';
    throw new CommandError(
      263,
      'OperationNotSupportedInTransaction',
      `Cannot run 'distinct' on a sharded collection in a multi-document transaction. ${advice}`,
    );
  }
  const collation = view === undefined ? collationOf(context, collection) : viewCollation(context, view).collation;
  if (view !== undefined)
    return new Map([['values', distinctValues(viewDocuments(context, view, [matching(filter)]), key, collation)]]);
  if (collection === undefined) return new Map([['values', []]]);
  return new Map([['values', distinctValues(decoded(found(context, collection, filter)), key, collation)]]);
}

function* decoded(documents: Iterable<Uint8Array | undefined>): Generator<Doc> {
  for (const bytes of documents) if (bytes !== undefined) yield decodeDocument(bytes);
}

function found(context: CommandContext, collection: Collection, filter: Doc): Iterable<Uint8Array | undefined> {
  const { request } = context;
  const query: Query = {
    ...WHOLE_COLLECTION,
    filter,
    hint: request.body.get('hint'),
    collation: collationOf(context, collection),
    variables: letVariables(context),
  };
  return queryDocuments(collection, query, readPoint(context).view, filteredAccess(request));
}

function collationOf(context: CommandContext, collection: Collection | undefined): Query['collation'] {
  const asked = optionalDoc(context, 'collation');
  return asked === undefined ? collection?.collation : parseCollation(asked);
}

function matching(filter: Doc): Doc {
  return new Map([['$match', filter]]);
}
