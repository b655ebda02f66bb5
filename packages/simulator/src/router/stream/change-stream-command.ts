import { Timestamp } from 'bson';
import { highWaterToken, resumeTokenDocument } from '../../bson/resume-token.js';
import type { Doc, Value } from '../../bson/value.js';
import type { ClusterShard } from '../../config/cluster-shard.js';
import type { CommandRequest } from '../../node/command.js';
import { docOf, numberOf } from '../../node/doc-fields.js';
import { eventPipeline } from '../../shard/change-stream/event-pipeline.js';
import { tokenVersion } from '../../shard/change-stream/event-style.js';
import { readStartToken, readStreamStage, streamScope } from '../../shard/change-stream/stream-stage.js';
import type { ShardStream, StreamScope, StreamStart } from '../../shard/change-stream/shard-stream.js';
import { timeKey } from '../../shard/storage/time-key.js';
import { commandCollection, type RouterContext } from '../router-context.js';
import { MergedStream, type MergedStreamStart } from './merged-stream.js';

/** `aggregate` with `$changeStream` through a router: the streams of all shards, merged. */
export async function changeStreamCommand(
  context: RouterContext,
  request: CommandRequest,
  pipeline: readonly Doc[],
): Promise<Doc> {
  const [first, ...stages] = pipeline;
  const stage = readStreamStage(first?.get('$changeStream') ?? null, context.release.features, true);
  const collection = numberOf(request.body.get('aggregate')) === 1 ? undefined : commandCollection(request);
  const scope = streamScope(stage, request.db, collection);
  const { splitsEvents } = eventPipeline(stages, context.version);
  for (const shard of context.catalog.shards) await shard.node.ready(request.signal);
  moveUpTo(context, docOf(request.body.get('readConcern'))?.get('afterClusterTime'));
  const given = stage.start ?? startNow(context);
  const open = (shard: ClusterShard, start: StreamStart): ShardStream =>
    shard.openStream({
      scope,
      start,
      stage,
      merged: true,
      pipeline: stages,
      lookup: (namespace, documentKey) => presentDocument(context, namespace, documentKey),
    });
  const merged = new MergedStream(
    cursorNamespace(request.db, scope),
    context.version,
    { shards: () => context.catalog.shards, open },
    mergedStart(context, scope, given, startToken(given, first), splitsEvents),
  );
  return context.cursors.first(merged, merged.first(), false, request);
}

/** A shard that has not reached the time of a read writes an entry of a later one. */
function moveUpTo({ catalog }: RouterContext, after: Value | undefined): void {
  if (!(after instanceof Timestamp)) return;
  for (const { access } of catalog.shards) {
    if (timeKey(after) > timeKey(access.lastAppliedTime()))
      access.appendNoop(new Map([['msg', 'noop write for afterClusterTime read concern']]));
  }
}

function mergedStart(
  context: RouterContext,
  scope: StreamScope,
  start: StreamStart,
  given: Doc | undefined,
  splitsEvents: boolean,
): MergedStreamStart {
  const version = tokenVersion(context.version, splitsEvents);
  if (start.kind === 'time')
    return {
      start,
      token: resumeTokenDocument(highWaterToken(start.clusterTime, version)),
      resumesAtEvent: false,
      tokenVersion: version,
    };
  const { tokenType } = readStartToken(start, scope, context.version);
  return {
    start,
    token: given ?? new Map([['_data', start.token]]),
    resumesAtEvent: tokenType === 'event',
    tokenVersion: version,
  };
}

/** From now on: just after the current cluster time. */
function startNow(context: RouterContext): StreamStart {
  const now = context.clock.current();
  return { kind: 'time', clusterTime: new Timestamp({ t: now.t, i: now.i + 1 }) };
}

/** The token as the client sent it, with the fields next to its `_data`. */
function startToken(start: StreamStart, stage: Doc | undefined): Doc | undefined {
  if (start.kind === 'time') return undefined;
  const options = stage?.get('$changeStream');
  const token = options instanceof Map ? (options.get('resumeAfter') ?? options.get('startAfter')) : undefined;
  return token instanceof Map ? token : undefined;
}

function cursorNamespace(db: string, scope: StreamScope): string {
  return scope.kind === 'collection' ? `${db}.${scope.collection}` : `${db}.$cmd.aggregate`;
}

/** The present document of a document key on the shard that owns it. */
function presentDocument(context: RouterContext, namespace: string, documentKey: Doc): Uint8Array | undefined {
  const collection = context.catalog.collection(namespace);
  const key = collection?.key.keyFrom(documentKey);
  const shards =
    collection !== undefined && key !== undefined
      ? [context.catalog.shard(collection.chunks.ownerOf(key, collection))]
      : context.holdersOf(namespace);
  for (const shard of shards) {
    const found = shard.access.findByKey(namespace, documentKey);
    if (found !== undefined) return found;
  }
  return undefined;
}
