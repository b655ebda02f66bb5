import { encodeDocument } from '../../bson/encode.js';
import type { Doc } from '../../bson/value.js';
import type { EntryNamespace } from '../oplog/entry.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import type { ShardStreamOptions } from './shard-stream.js';
import type { ShardState } from '../shard-state.js';
import type { Collection } from '../storage/collection.js';
import { visibleBytes } from '../storage/record.js';
import { LATEST } from '../storage/time-key.js';
import { refuseView } from '../write/refuse-view.js';
import { eventPipeline } from './event-pipeline.js';
import { eventStyle, tokenVersion } from './event-style.js';
import { ResumePoint } from './resume-point.js';
import { ShardChangeStream, type StreamPosition } from './shard-change-stream.js';
import { ScopeFilter } from './stream-scope.js';
import { readStartToken } from './stream-stage.js';

/** Opens a stream on a shard. @throws CommandError for views, and for tokens and stages that it refuses */
export function openChangeStream(state: ShardState, options: ShardStreamOptions): ShardChangeStream {
  const { version, oplog } = state;
  const { lookup, merged, scope, stage } = options;
  if (scope.kind === 'collection') refuseView(state, `${scope.db}.${scope.collection}`);
  const pipeline = eventPipeline(options.pipeline, version);
  const position = startPosition(state, options);
  const style = eventStyle({
    version,
    stage,
    merged,
    collectionScope: scope.kind === 'collection',
    splitsEvents: pipeline.splitsEvents,
    resumed: position.resume?.token,
    lookup: (target, key) =>
      lookup === undefined ? presentDocument(state, target, key) : lookup(`${target.db}.${target.collection}`, key),
    presentShardKey: (target) => presentCollection(state, target)?.target.shardKey,
  });
  return new ShardChangeStream({
    oplog,
    scope: new ScopeFilter({
      scope,
      newShards: !merged && !version.atLeast(6),
      expanded: stage.showExpandedEvents,
      systemEvents: stage.showSystemEvents,
    }),
    position,
    style,
    pipeline,
    alone: !merged,
    tokenVersion: tokenVersion(version, pipeline.splitsEvents),
  });
}

function startPosition(state: ShardState, { start, scope }: ShardStreamOptions): StreamPosition {
  if (start.kind === 'time') return { clusterTime: start.clusterTime, token: undefined, resume: undefined };
  const token = readStartToken(start, scope, state.version);
  const resume = token.tokenType === 'event' ? new ResumePoint(token, start.token) : undefined;
  return { clusterTime: token.clusterTime, token: start.token, resume };
}

/** The collection of an entry, if it still has the name of then. */
function presentCollection(state: ShardState, target: EntryNamespace): Collection | undefined {
  const collection = state.catalog.collection(`${target.db}.${target.collection}`);
  return collection?.uuid === target.uuid ? collection : undefined;
}

/** The current document of a document key, in the collection of then. */
function presentDocument(state: ShardState, target: EntryNamespace, documentKey: Doc): Uint8Array | undefined {
  const collection = presentCollection(state, target);
  if (collection === undefined) return undefined;
  const view = { time: LATEST, transaction: null };
  const record = collection.recordById(documentKey.get('_id') ?? null, view);
  const bytes = record === null ? null : visibleBytes(record, view);
  if (bytes === null) return undefined;
  const present = documentKeyFrom(bytes, [...documentKey.keys()]);
  return encodeDocument(present).equals(encodeDocument(documentKey)) ? bytes : undefined;
}
