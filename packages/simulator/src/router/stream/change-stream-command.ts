import { Timestamp } from 'bson';
import { highWaterToken, resumeTokenDocument } from '../../bson/resume-token.js';
import type { Doc } from '../../bson/value.js';
import type { CommandRequest } from '../../node/command.js';
import { numberOf } from '../../node/doc-fields.js';
import { readStreamStage, streamScope } from '../../shard/change-stream/open-stream.js';
import type { StreamScope, StreamStart } from '../../shard/shard-access.js';
import { commandCollection, type RouterContext } from '../router-context.js';
import { MergedStream } from './merged-stream.js';

/** `aggregate` with `$changeStream` through a router: the streams of all shards, merged. */
export function changeStreamCommand(context: RouterContext, request: CommandRequest, pipeline: readonly Doc[]): Promise<Doc> {
  const [first, ...stages] = pipeline;
  const stage = readStreamStage(first?.get('$changeStream') ?? null);
  const collection = numberOf(request.body.get('aggregate')) === 1 ? undefined : commandCollection(request);
  const scope = streamScope(stage, request.db, collection);
  const start = stage.start ?? startNow(context);
  const streams = context.catalog.shards.map((shard) =>
    shard.access.openStream({
      scope,
      start,
      updateLookup: stage.updateLookup,
      wholeDocumentKeys: true,
      pipeline: stages,
      lookup: (namespace, documentKey) => presentDocument(context, namespace, documentKey),
    }),
  );
  const merged = new MergedStream(cursorNamespace(request.db, scope), streams, startToken(start, first));
  return context.cursors.first(merged, merged.first(), false, request);
}

/** From now on: just behind the present cluster time. */
function startNow(context: RouterContext): StreamStart {
  const now = context.clock.current();
  return { kind: 'time', clusterTime: new Timestamp({ t: now.t, i: now.i + 1 }) };
}

function startToken(start: StreamStart, stage: Doc | undefined): Doc {
  if (start.kind === 'time') return resumeTokenDocument(highWaterToken(start.clusterTime));
  const options = stage?.get('$changeStream');
  const token = options instanceof Map ? (options.get('resumeAfter') ?? options.get('startAfter')) : undefined;
  return token instanceof Map ? token : new Map([['_data', start.token]]);
}

function cursorNamespace(db: string, scope: StreamScope): string {
  return scope.kind === 'collection' ? `${db}.${scope.collection}` : `${db}.$cmd.aggregate`;
}

/** The present document of a document key on the shard that owns it. */
function presentDocument(context: RouterContext, namespace: string, documentKey: Doc): Uint8Array | undefined {
  const collection = context.catalog.collection(namespace);
  const key = collection?.key.keyFrom(documentKey);
  const shards = collection !== undefined && key !== undefined ? [context.catalog.shard(collection.chunks.ownerOf(key))] : context.holdersOf(namespace);
  for (const shard of shards) {
    const found = shard.access.findByKey(namespace, documentKey);
    if (found !== undefined) return found;
  }
  return undefined;
}
