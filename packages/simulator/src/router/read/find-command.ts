import { Int32, type Timestamp } from 'bson';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { parseCollation } from '../../bson/collation.js';
import { documentText } from '../../bson/text.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { ExpressionContext } from '../../expression/variables.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { doc, docOf, docOrEmpty, isTrue, numberOf } from '../../node/doc-fields.js';
import { compileMatcher } from '../../query/matcher.js';
import { compileProjection } from '../../query/projection.js';
import { wholeDocumentProjection } from '../../query/whole-document.js';
import { compileSort } from '../../query/sort.js';
import { commandNamespace, type RouterContext } from '../router-context.js';
import { targetQuery } from '../target/query-targeting.js';
import type { SendOptions } from '../target/shard-sender.js';
import { unexpectedCollection } from '../../shard/commands/expected-collection.js';
import { splitNamespace } from '../../node/namespace.js';
import { isStale } from '../target/stale-routing.js';
import { firstBatchDefault } from './batch-size.js';
import { MergedCursor, type MergeOrder, wholeDocument } from './merged-cursor.js';
import { OneShardCursor } from './one-shard-cursor.js';
import { snapshotTime, withSnapshotTime } from './read-concern.js';
import { routerVariables } from './router-variables.js';
import { ShardCursor } from './shard-cursor.js';
import { findOverView } from './view-reads.js';
import { resolveShardedView } from './views.js';

/** `find` through a router: passed through to one shard, or merged from several. */
export async function findCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const namespace = commandNamespace(request);
  const filter = docOrEmpty(request.body.get('filter'));
  const time = snapshotTime(request, context.clock);
  const variables = routerVariables(context, request);
  compileMatcher(filter, undefined, variables);
  compileProjection(docOrEmpty(request.body.get('projection')), variables);
  const picture = context.routing.picture(namespace);
  const { collection } = picture;
  const body = withSnapshotTime(request.body, time);
  const options = { time, picture };
  if (collection === undefined) {
    if (resolveShardedView(context, namespace) !== undefined) return findOverView(context, request, namespace);
    const primary = context.routedPrimaryOf(namespace);
    const meant = request.body.get('collectionUUID');
    if (primary === undefined && meant !== undefined)
      throw unexpectedCollection('Database does not exist', missingDatabase(namespace, meant));
    if (primary === undefined)
      return context.cursors.first(emptyCursor(namespace), { documents: [], exhausted: true, time }, false, request);
    return handThrough(context, request, namespace, time, () =>
      ShardCursor.open(context.sender, primary, request, body, options),
    );
  }
  const chunks =
    time === undefined
      ? collection.chunks
      : await asShardQuery(() => Promise.resolve().then(() => collection.chunks.at(time)));
  const { shards } = targetQuery(collection, filter, request.body.get('collation'), chunks);
  const [only, ...others] = context.shardsOf(shards);
  if (only !== undefined && others.length === 0) {
    return handThrough(context, request, namespace, time, () =>
      ShardCursor.open(context.sender, only, request, body, options),
    );
  }
  return mergeShards(context, request, collection, body, shards, options);
}

function missingDatabase(namespace: string, meant: Value): Doc {
  const { db, collection } = splitNamespace(namespace);
  return doc(['db', db], ['collectionUUID', meant], ['expectedCollection', collection], ['actualCollection', null]);
}

/** @param time of a read at a time; a router returns it in any case, also for a missing collection */
async function handThrough(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  time: Timestamp | undefined,
  open: () => Promise<ShardCursor>,
): Promise<Doc> {
  const cursor = new OneShardCursor(namespace, await asShardQuery(open), 'short batch');
  const batch = cursor.first(numberOf(request.body.get('batchSize')) ?? firstBatchDefault);
  return context.cursors.first(cursor, { ...batch, time }, isTrue(request.body.get('singleBatch')), request);
}

async function mergeShards(
  context: RouterContext,
  request: CommandRequest,
  collection: ShardedCollection,
  body: Doc,
  shards: readonly string[],
  options: SendOptions,
): Promise<Doc> {
  const plan = mergePlan(collection, body, routerVariables(context, request));
  const opening = (): Promise<ShardCursor[]> =>
    ShardCursor.openAll(context.sender, context.shardsOf(shards), request, plan.body, options);
  const cursors = await asShardQuery(() =>
    plan.order === undefined ? opening() : opening().catch((error: unknown) => refuseWithSortKey(error, body)),
  );
  const merged = new MergedCursor(collection.namespace, cursors, plan);
  const batch = await merged.next(numberOf(body.get('batchSize')) ?? firstBatchDefault, request);
  return context.cursors.first(merged, { ...batch, time: options.time }, isTrue(body.get('singleBatch')), request);
}

/** Shards quote the query in a failure together with the router's request for the merge key. */
function refuseWithSortKey(error: unknown, body: Doc): never {
  if (!(error instanceof CommandError)) throw error;
  const asked = documentText(
    new Map([...docOrEmpty(body.get('projection')), ['$sortKey', new Map([['$meta', 'sortKey']])]]),
  );
  throw new CommandError(
    error.code,
    error.codeName,
    error.message.replace('\nProj: {}\n', () => `\nProj: ${asked}\n`),
    error.labels,
    error.extra,
  );
}

/** The shards' part of a find, and the router's part. */
function mergePlan(collection: ShardedCollection, body: Doc, variables: ExpressionContext) {
  const skip = numberOf(body.get('skip')) ?? 0;
  const asked = numberOf(body.get('limit')) ?? 0;
  const limit = asked === 0 ? Infinity : Math.abs(asked);
  const sort = docOf(body.get('sort'));
  const sorted = sort !== undefined && sort.size > 0 && !sort.has('$natural');
  const projection = docOf(body.get('projection'));
  const shardBody = new Map(body);
  shardBody.delete('skip');
  shardBody.delete('singleBatch');
  if (limit !== Infinity) shardBody.set('limit', new Int32(limit + skip));
  const collation = docOf(body.get('collation')) ?? collection.defaultCollation;
  const late = sorted && projection !== undefined && projection.size > 0;
  if (late) shardBody.delete('projection');
  return {
    body: shardBody,
    skip,
    limit,
    order: sorted ? mergeOrder(sort, collation) : undefined,
    project: late ? projectionOf(projection, variables) : undefined,
  };
}

/** A projection that the router applies itself, because it needs whole documents to order them. */
function projectionOf(projection: Doc, variables: ExpressionContext): (document: Value) => Value {
  const whole = wholeDocumentProjection(projection);
  const project = compileProjection(projection, variables);
  return (document) => {
    if (whole !== undefined && document instanceof RawDocument) return new RawDocument(whole(document.bytes));
    return project(wholeDocument(document));
  };
}

function mergeOrder(sort: Doc, collation: Doc | undefined): MergeOrder {
  const compare = compileSort(sort, collation === undefined ? undefined : parseCollation(collation));
  const fields = new Set([...sort.keys()].map((path) => path.split('.', 1)[0] ?? path));
  return { compare, fields: [...fields] };
}

function emptyCursor(namespace: string) {
  return {
    namespace,
    next: () => Promise.resolve({ documents: [], exhausted: true }),
    close: () => Promise.resolve(),
  };
}

/** Codes that a find passes on without a preface: the router's own, or those that clients must see unchanged. */
const untouched: ReadonlySet<number> = new Set([43, 18, 13]);

/** Runs a part of a find on shards, with failures in the words of a router. */
async function asShardQuery<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof CommandError) || untouched.has(error.code) || isStale(error)) throw error;
    const preface = 'Encountered non-retryable error during query :: caused by :: ';
    throw new CommandError(error.code, error.codeName, preface + error.message, error.labels, error.extra);
  }
}
