import type { Timestamp } from 'bson';
import { parseCollation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { type Doc, RawDocument } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { ShardedCollection } from '../../config/sharded-collection.js';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { docOf, docOrEmpty, numberOf } from '../../node/doc-fields.js';
import { databaseOf } from '../../node/namespace.js';
import { compilePipeline } from '../../pipeline/stages.js';
import type { RouterContext } from '../router-context.js';
import { commandCollection } from '../router-context.js';
import { changeStreamCommand } from '../stream/change-stream-command.js';
import { PASSTHROUGH_FIELD, passthroughCommand } from '../stream/passthrough.js';
import { ShardOwnership } from '../target/shard-ownership.js';
import { targetQuery } from '../target/query-targeting.js';
import type { SendOptions } from '../target/shard-sender.js';
import { firstBatchDefault } from './batch-size.js';
import { ListCursor } from './list-cursor.js';
import { MergedCursor } from './merged-cursor.js';
import { OneShardCursor } from './one-shard-cursor.js';
import { splitPipeline } from './pipeline-split.js';
import { snapshotTime, withSnapshotTime } from './read-concern.js';
import { ShardCursor } from './shard-cursor.js';

/** `aggregate` through a router: on one shard as it is, on several split into a part for the shards and one for the router. */
export async function aggregateCommand(context: RouterContext, request: CommandRequest): Promise<Doc> {
  const pipeline = stagesOf(request.body);
  if (request.body.has(PASSTHROUGH_FIELD)) return passthroughCommand(context, request, pipeline);
  if (pipeline[0]?.has('$changeStream') === true) return changeStreamCommand(context, request, pipeline);
  const wholeDatabase = numberOf(request.body.get('aggregate')) === 1;
  const namespace = `${request.db}.${wholeDatabase ? '$cmd.aggregate' : commandCollection(request)}`;
  const time = snapshotTime(request, context.clock);
  const body = withSnapshotTime(request.body, time);
  const picture = wholeDatabase ? undefined : context.routing.picture(namespace);
  const options = { time, picture };
  const shards = targetsOf(context, namespace, picture?.collection, pipeline, request, time);
  const [only, ...others] = shards;
  if (only === undefined) return context.cursors.first(new ListCursor(namespace, []), { documents: [], exhausted: true }, false, request);
  if (others.length === 0) {
    const cursor = new OneShardCursor(namespace, await ShardCursor.open(context.sender, only, request, body, options));
    return context.cursors.first(cursor, cursor.first(), false, request);
  }
  return mergeShards(context, request, namespace, body, pipeline, shards, options);
}

function stagesOf(body: Doc): Doc[] {
  const pipeline = body.get('pipeline');
  if (!Array.isArray(pipeline)) throw new CommandError(14, 'TypeMismatch', `'pipeline' option must be specified as an array`);
  return pipeline.map((stage) => {
    if (stage instanceof Map) return stage;
    throw new CommandError(14, 'TypeMismatch', 'Each element of the \'pipeline\' array must be an object');
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
  if (collection === undefined) return unshardedHolder(context, namespace);
  const filter = docOrEmpty(pipeline[0]?.get('$match'));
  const chunks = time === undefined ? collection.chunks : collection.chunks.at(time);
  return context.shardsOf(targetQuery(collection, filter, request.body.get('collation'), chunks).shards);
}

function unshardedHolder(context: RouterContext, namespace: string): ClusterShard[] {
  const primary = context.routedPrimaryOf(namespace);
  return primary === undefined ? [] : [primary];
}

async function mergeShards(
  context: RouterContext,
  request: CommandRequest,
  namespace: string,
  body: Doc,
  pipeline: readonly Doc[],
  shards: readonly ClusterShard[],
  options: SendOptions,
): Promise<Doc> {
  const split = splitPipeline(pipeline);
  const shardBody = new Map(body).set('pipeline', split.onShards);
  const cursors = await ShardCursor.openAll(context.sender, shards, request, shardBody, options);
  const batchSize = numberOf(docOf(body.get('cursor'))?.get('batchSize')) ?? firstBatchDefault;
  const merged = new MergedCursor(namespace, cursors, { skip: 0, limit: Infinity });
  if (split.onRouter.length === 0) return context.cursors.first(merged, await merged.next(batchSize, request), false, request);
  const documents: Doc[] = [];
  for (let batch = await merged.next(undefined, request); ; batch = await merged.next(undefined, request)) {
    for (const document of batch.documents) documents.push(document instanceof RawDocument ? decodeDocument(document.bytes) : (document as Doc));
    if (batch.exhausted) break;
  }
  const collation = docOf(body.get('collation')) ?? context.catalog.collection(namespace)?.defaultCollation;
  const run = compilePipeline(split.onRouter, {
    collation: collation === undefined ? undefined : parseCollation(collation),
    lookup: (from: string) => foreignDocuments(context, `${databaseOf(namespace)}.${from}`),
  });
  const list = new ListCursor(namespace, [...run(documents)], options.time);
  return context.cursors.first(list, await list.next(batchSize), false, request);
}

function* foreignDocuments(context: RouterContext, namespace: string): Generator<Doc> {
  for (const shard of context.holdersOf(namespace)) {
    const owned = new ShardOwnership(context.catalog, shard, {});
    for (const document of shard.access.documents(namespace, (bytes) => owned.owns(namespace, bytes))) yield decodeDocument(document);
  }
}
