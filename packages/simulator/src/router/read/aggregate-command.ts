import type { Timestamp } from 'bson';
import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { type Doc, RawDocument, type Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { docOf, docOrEmpty, numberOf } from '../../node/doc-fields.js';
import { unknownField } from '../../node/unknown-field.js';
import { unsimulated } from '../../node/unsimulated.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import { refuseFailingConstants } from '../../pipeline/constant-failures.js';
import { compilePipeline } from '../../pipeline/stages.js';
import { ExecutionError } from '../../shard/execution-error.js';
import type { RouterContext } from '../router-context.js';
import { commandCollection } from '../router-context.js';
import { changeStreamCommand } from '../stream/change-stream-command.js';
import { targetQuery } from '../target/query-targeting.js';
import type { SendOptions } from '../target/shard-sender.js';
import { firstBatchDefault } from './batch-size.js';
import { foreignCollections, foreignDocuments, readsLocally } from './foreign-collections.js';
import { ListCursor } from './list-cursor.js';
import { MergedCursor } from './merged-cursor.js';
import { OneShardCursor } from './one-shard-cursor.js';
import { splitPipeline } from './pipeline-split.js';
import { snapshotTime, withSnapshotTime } from './read-concern.js';
import { routerVariables } from './router-variables.js';
import { ShardCursor } from './shard-cursor.js';
import { resolveShardedView, withViewCollation } from './views.js';
import { outputStage, writeOutput, writesLocally } from '../write/pipeline-output.js';

/** The option by which routers since 6.0 pass on a change stream of one shard unchanged. */
const passthroughField = '$_passthroughToShard';

/**
 * `aggregate` through a router: unchanged on one shard, or split into a part for several shards and one for the router.
 */
export async function aggregateCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const pipeline = stagesOf(request.body);
  if (request.body.has(passthroughField)) {
    if (!context.version.atLeast(6)) throw unknownField(`aggregate.${passthroughField}`);
    throw unsimulated(passthroughField);
  }
  if (pipeline[0]?.has('$changeStream') === true) return changeStreamCommand(context, request, pipeline);
  const whole = numberOf(request.body.get('aggregate')) === 1;
  const reply = whole
    ? await aggregateCollection(context, request, `${request.db}.$cmd.aggregate`, pipeline)
    : await aggregateNamespace(context, request, `${request.db}.${commandCollection(request)}`, pipeline);
  return writesOutput(pipeline) ? withBatchLast(reply) : reply;
}

function writesOutput(pipeline: readonly Doc[]): boolean {
  const last = pipeline.at(-1);
  return last?.has('$out') === true;
}

/**
 * Where a router rebuilds a shard's reply, the batch follows id and namespace: for a sharded collection, an open cursor
 * and a pipeline that writes; since 8.0 always (seen on 8.0.10).
 */
function withBatchLast(reply: Doc): Doc {
  const cursor = docOrEmpty(reply.get('cursor'));
  const before = ['id', 'ns', 'firstBatch'].map((name): [string, Value] => [name, cursor.get(name) ?? null]);
  return reply.set(
    'cursor',
    new Map([...before, ...[...cursor].filter(([name]) => !before.some(([known]) => known === name))]),
  );
}

/** Runs a pipeline over a collection or view. */
export async function aggregateNamespace(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  pipeline: Doc[],
): Promise<Doc> {
  const view = resolveShardedView(context, namespace);
  if (view === undefined) return aggregateCollection(context, request, namespace, pipeline);
  const body = withViewCollation(request.body, view);
  return aggregateCollection(context, { ...request, body }, view.namespace, [...view.stages, ...pipeline], namespace);
}

/** @param shown the namespace in the reply */
async function aggregateCollection(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  pipeline: Doc[],
  shown = namespace,
): Promise<Doc> {
  const wholeDatabase = namespace.endsWith('.$cmd.aggregate');
  const time = snapshotTime(request, context.clock);
  const body = new Map(withSnapshotTime(request.body, time)).set('pipeline', pipeline);
  if (!wholeDatabase) body.set('aggregate', collectionOf(namespace));
  const picture = wholeDatabase ? undefined : context.routing.picture(namespace);
  const options = { time, picture };
  const shards = targetsOf(context, namespace, picture?.collection, pipeline, request, time);
  const [only, ...others] = shards;
  if (only === undefined)
    return context.cursors.first(new ListCursor(shown, []), { documents: [], exhausted: true }, false, request);
  if (others.length === 0 && runsOn(context, request.db, only, pipeline)) {
    const cursor = new OneShardCursor(
      shown,
      await ShardCursor.open(context.sender, only, request, body, options),
      'shard',
    );
    const batch = cursor.first(Infinity);
    const reply = await context.cursors.first(cursor, batch, false, request);
    const isPassedOn = batch.exhausted && picture?.collection === undefined && !context.version.atLeast(8, 0);
    return isPassedOn ? reply : withBatchLast(reply);
  }
  return mergeShards(context, request, { namespace, shown }, body, pipeline, shards, options);
}

/** True when one shard has everything that a pipeline reads and writes. */
function runsOn(context: RouterContext, db: string, shard: ClusterShard, pipeline: readonly Doc[]): boolean {
  const output = outputStage(pipeline);
  return (
    readsLocally(context, db, shard, pipeline) && (output === undefined || writesLocally(context, db, shard, output))
  );
}

function stagesOf(body: Doc): Doc[] {
  const pipeline = body.get('pipeline');
  if (!Array.isArray(pipeline))
    throw new CommandError(14, 'TypeMismatch', `'pipeline' option must be specified as an array`);
  return pipeline.map((stage) => {
    if (stage instanceof Map) return stage;
    throw new CommandError(14, 'TypeMismatch', "Each element of the 'pipeline' array must be an object");
  });
}

function targetsOf(
  context: RouterContext,
  namespace: string,
  collection: ShardedCollection | undefined,
  pipeline: readonly Doc[],
  request: CommandRequest,
  time: Timestamp | undefined,
): ClusterShard[] {
  if (pipeline[0]?.has('$currentOp') === true) return [...context.catalog.shards];
  if (collection === undefined) return unshardedHolder(context, namespace);
  const filter = docOrEmpty(pipeline[0]?.get('$match'));
  const chunks = time === undefined ? collection.chunks : collection.chunks.at(time);
  return context.shardsOf(targetQuery(collection, filter, request.body.get('collation'), chunks).shards);
}

function unshardedHolder(context: RouterContext, namespace: string): ClusterShard[] {
  const primary = context.routedPrimaryOf(namespace);
  return primary === undefined ? [] : [primary];
}

/**
 * The cursors of the shards' part of a pipeline.
 * @param isAll whether the shards do all of it: a router's stages may be moved ahead of those that fail
 * @throws CommandError 115 for a failure over a document where several shards race to report theirs
 */
async function opened(isAll: boolean, opening: readonly Promise<ShardCursor>[]): Promise<ShardCursor[]> {
  const failures = (await Promise.allSettled(opening)).flatMap((answer) =>
    answer.status === 'rejected' ? [answer.reason as Error] : [],
  );
  const other = failures.find((failure) => !(failure instanceof ExecutionError));
  if (other !== undefined) throw other;
  const [failure, ...further] = failures.filter((each) => each instanceof ExecutionError);
  if (failure === undefined) return Promise.all(opening);
  if (isAll && further.every(({ reason }) => reason.message === failure.reason.message)) throw failure;
  throw unsimulated('which document of several shards fails');
}

/**
 * The results of a router's stages.
 * @throws CommandError 115 for a failure over a document where another node may run them
 */
function mergedOnRouter(stages: readonly Doc[], run: () => Doc[]): Doc[] {
  const [first, second] = stages;
  const isHere =
    (first?.has('$limit') === true || second?.has('$limit') === true) && foreignCollections(stages).length === 0;
  try {
    return run();
  } catch (error) {
    throw isHere || !(error instanceof CommandError)
      ? error
      : unsimulated('what fails after documents of several shards are merged');
  }
}

/** A failure over a document of a shard, in the words of the router that reads on. */
async function openMerged(
  context: RouterContext,
  shard: ClusterShard,
  request: CommandRequest,
  body: Doc,
  options: SendOptions,
): Promise<ShardCursor> {
  try {
    return await ShardCursor.open(context.sender, shard, request, body, options);
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error;
    const host = shard.connectionString.slice(shard.connectionString.indexOf('/') + 1);
    throw new ExecutionError(
      error.reason,
      `Error on remote shard ${host} :: caused by :: Executor error during getMore`,
    );
  }
}

async function mergeShards(
  context: RouterContext,
  request: CommandRequest,
  { namespace, shown }: { readonly namespace: string; readonly shown: string },
  body: Doc,
  pipeline: readonly Doc[],
  shards: readonly ClusterShard[],
  options: SendOptions,
): Promise<Doc> {
  const output = outputStage(pipeline);
  const variables = routerVariables(context, request);
  refuseFailingConstants(pipeline, variables);
  const split = splitPipeline(output === undefined ? pipeline : pipeline.slice(0, -1));
  const shardBody = new Map(body).set('pipeline', split.onShards);
  const isAll = split.onRouter.every((stage) => stage.has('$sort'));
  const cursors = await opened(
    isAll,
    shards.map((shard) => openMerged(context, shard, request, shardBody, options)),
  );
  const batchSize = numberOf(docOf(body.get('cursor'))?.get('batchSize')) ?? firstBatchDefault;
  const merged = new MergedCursor(shown, cursors, { skip: 0, limit: Infinity, piped: true });
  if (split.onRouter.length === 0 && output === undefined)
    return context.cursors.first(merged, await merged.next(batchSize, request), false, request);
  const documents: Doc[] = [];
  for (let batch = await merged.next(undefined, request); ; batch = await merged.next(undefined, request)) {
    for (const document of batch.documents)
      documents.push(document instanceof RawDocument ? decodeDocument(document.bytes) : (document as Doc));
    if (batch.exhausted) break;
  }
  const collation = docOf(body.get('collation')) ?? context.catalog.collection(namespace)?.defaultCollation;
  const surroundings = {
    ...variables,
    collation: collation === undefined ? undefined : parseCollation(collation),
  };
  const lookup = (from: string): Iterable<Doc> =>
    foreignDocuments(context, `${databaseOf(namespace)}.${from}`, surroundings);
  const results = mergedOnRouter(split.onRouter, () => [
    ...compilePipeline(split.onRouter, { ...surroundings, lookup })(documents),
  ]);
  if (output !== undefined) await writeOutput(context, request, output, results);
  const list = new ListCursor(shown, output === undefined ? results : [], options.time);
  return context.cursors.first(list, await list.next(batchSize), false, request);
}
