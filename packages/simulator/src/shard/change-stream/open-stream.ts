import { Timestamp } from 'bson';
import { valueText } from '../../bson/text.js';
import { decodeResumeToken } from '../../bson/resume-token.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { failure } from '../failure.js';
import type { ShardStreamOptions, StreamScope, StreamStart } from '../shard-access.js';
import type { ShardState } from '../shard-state.js';
import { LATEST } from '../storage/time-key.js';
import { visibleBytes } from '../storage/record.js';
import type { EntryNamespace } from '../oplog/entry.js';
import { documentKeyFrom } from '../oplog/document-key.js';
import type { EventStyle } from './stream-event.js';
import { eventPipeline } from './event-pipeline.js';
import { ShardChangeStream, type StreamPosition } from './shard-change-stream.js';
import { ScopeFilter } from './stream-scope.js';
import { encodeDocument } from '../../bson/encode.js';

const STAGE_FIELDS: ReadonlySet<string> = new Set([
  'allChangesForCluster',
  'allowToRunOnConfigDB',
  'allowToRunOnSystemNS',
  'fullDocument',
  'resumeAfter',
  'startAfter',
  'startAtOperationTime',
]);

/** What a `$changeStream` stage asks for. */
export interface StreamStage {
  readonly allChangesForCluster: boolean;
  readonly updateLookup: boolean;
  /** Undefined: from now on. */
  readonly start: StreamStart | undefined;
}

/** Reads the operand of `$changeStream`. Throws CommandError for what the server refuses. */
export function readStreamStage(stage: Value): StreamStage {
  if (!(stage instanceof Map)) throw new CommandError(50808, 'Location50808', `$changeStream stage expects a document as argument`);
  for (const name of stage.keys()) if (!STAGE_FIELDS.has(name)) throw failure.unknownField(`$changeStream.${name}`);
  const fullDocument = stage.get('fullDocument') ?? 'default';
  if (fullDocument !== 'default' && fullDocument !== 'updateLookup') {
    throw failure.badValue(`Enumeration value '${typeof fullDocument === 'string' ? fullDocument : valueText(fullDocument)}' for field '$changeStream.fullDocument' is not a valid value.`);
  }
  return { allChangesForCluster: stage.get('allChangesForCluster') === true, updateLookup: fullDocument === 'updateLookup', start: readStart(stage) };
}

function readStart(stage: Doc): StreamStart | undefined {
  const time = stage.get('startAtOperationTime');
  const resumeAfter = stage.get('resumeAfter');
  const startAfter = stage.get('startAfter');
  const given = [time, resumeAfter, startAfter].filter((value) => value !== undefined);
  if (given.length > 1) {
    throw new CommandError(40674, 'Location40674', "Only one type of resume option is allowed, but multiple were found.");
  }
  if (time instanceof Timestamp) return { kind: 'time', clusterTime: time };
  if (time !== undefined) throw failure.typeMismatch("BSON field '$changeStream.startAtOperationTime' is the wrong type, expected type 'timestamp'");
  const token = resumeAfter ?? startAfter;
  if (token === undefined) return undefined;
  const data = token instanceof Map ? token.get('_data') : undefined;
  if (typeof data !== 'string') {
    throw new CommandError(40647, 'Location40647', 'resume token must contain a _data field of type string');
  }
  return { kind: 'token', token: data, afterInvalidate: startAfter !== undefined };
}

/** The scope of a stream opened by `aggregate` on a database and collection. */
export function streamScope(stage: StreamStage, db: string, collection: string | undefined): StreamScope {
  if (stage.allChangesForCluster) {
    if (db !== 'admin' || collection !== undefined) {
      throw failure.invalidOptions("A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no collection name; found " + `${db}.${collection ?? '$cmd.aggregate'}`);
    }
    return { kind: 'cluster' };
  }
  return collection === undefined ? { kind: 'database', db } : { kind: 'collection', db, collection };
}

/** Opens a stream on a shard. Throws CommandError for tokens and times that cannot be resumed at. */
export function openChangeStream(state: ShardState, options: ShardStreamOptions): ShardChangeStream {
  const { lookup } = options;
  const find = lookup === undefined
    ? (target: EntryNamespace, key: Doc) => presentDocument(state, target, key)
    : (target: EntryNamespace, key: Doc) => lookup(`${target.db}.${target.collection}`, key);
  const style: EventStyle = { wholeDocumentKeys: options.wholeDocumentKeys, lookup: options.updateLookup ? find : undefined };
  return new ShardChangeStream({
    oplog: state.oplog,
    scope: new ScopeFilter(options.scope, !options.wholeDocumentKeys),
    position: startPosition(options),
    style,
    pipeline: eventPipeline(options.pipeline),
  });
}

function startPosition(options: ShardStreamOptions): StreamPosition {
  const { start } = options;
  if (start.kind === 'time') return { clusterTime: start.clusterTime, token: undefined, mustFind: false };
  const token = decodeResumeToken(start.token);
  if (token.fromInvalidate && !start.afterInvalidate) {
    throw new CommandError(
      260,
      'InvalidResumeToken',
      "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.",
    );
  }
  return {
    clusterTime: token.clusterTime,
    token: start.token,
    mustFind: token.tokenType === 'event' && !options.wholeDocumentKeys && options.pipeline.length === 0,
  };
}

/** The document that a document key names now, in the collection it named then. */
function presentDocument(state: ShardState, target: EntryNamespace, documentKey: Doc): Uint8Array | undefined {
  const collection = state.catalog.collection(`${target.db}.${target.collection}`);
  if (collection === undefined || collection.uuid !== target.uuid) return undefined;
  const view = { time: LATEST, transaction: null };
  const record = collection.recordById(documentKey.get('_id') ?? null, view);
  const bytes = record === null ? null : visibleBytes(record, view);
  if (bytes === null) return undefined;
  const present = documentKeyFrom(bytes, [...documentKey.keys()]);
  return encodeDocument(present).equals(encodeDocument(documentKey)) ? bytes : undefined;
}
