import type { Timestamp } from 'bson';
import { resumeTokenDocument, type ResumeToken } from '../../bson/resume-token.js';
import type { Doc, Value } from '../../bson/value.js';
import { newShardKey } from '../oplog/document-key.js';
import type { NewShardOperation, OplogEntry } from '../oplog/entry.js';
import { ddlEvent, viewEvent } from './ddl-event.js';
import { documentEvent } from './document-event.js';
import { finished, tokenOf, type EventPlace, type StreamEvent } from './event-start.js';
import type { EventStyle } from './event-style.js';

/** The event of one operation. Undefined for operations without one. */
export function streamEvent(entry: OplogEntry, operationIndex: number, style: EventStyle): StreamEvent | undefined {
  const operation = entry.operations[operationIndex];
  if (operation === undefined || operation.kind === 'silent') return undefined;
  if (operation.kind === 'newShard') return newShardEvent(entry, operationIndex, operation, style);
  const place: EventPlace = {
    entry,
    operationIndex,
    uuid: 'target' in operation ? operation.target.uuid : undefined,
    style,
  };
  switch (operation.kind) {
    case 'insert':
    case 'update':
    case 'delete':
      if (style.views && operation.target.collection === 'system.views') return viewEvent(place, operation);
      return documentEvent(place, operation);
    default:
      return ddlEvent(place, operation);
  }
}

/** The event that adds a new shard to a router's stream. */
function newShardEvent(
  entry: OplogEntry,
  operationIndex: number,
  operation: NewShardOperation,
  style: EventStyle,
): StreamEvent {
  const place: EventPlace = { entry, operationIndex, uuid: operation.target.uuid, style };
  const token = tokenOf(place, {
    operationType: 'kNewShardDetected',
    documentKey: new Map([['_id', newShardKey(operation)]]),
  });
  const tokenDocument = resumeTokenDocument(token);
  const doc: Doc = new Map<string, Value>([
    ['_id', tokenDocument],
    ['operationType', 'kNewShardDetected'],
    ['clusterTime', entry.clusterTime],
  ]);
  return finished(token, tokenDocument, doc, false);
}

/** The event that ends a stream whose collection or database was dropped. @param cause the event of the drop */
export function invalidateEvent({ token: causing, doc: cause }: StreamEvent): StreamEvent {
  const token: ResumeToken = { ...causing, fromInvalidate: true };
  const tokenDocument = resumeTokenDocument(token);
  const doc: Doc = new Map<string, Value>([
    ['_id', tokenDocument],
    ['operationType', 'invalidate'],
    ['clusterTime', cause.get('clusterTime') as Timestamp],
  ]);
  const wallTime = cause.get('wallTime');
  if (wallTime !== undefined) doc.set('wallTime', wallTime);
  return finished(token, tokenDocument, doc, true);
}
