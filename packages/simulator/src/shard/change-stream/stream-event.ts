import type { Timestamp } from 'bson';
import { encodeDocument } from '../../bson/encode.js';
import { resumeTokenDocument, type ResumeToken } from '../../bson/resume-token.js';
import { RawDocument, type Doc, type Value } from '../../bson/value.js';
import { documentKeyFrom, newShardKey } from '../oplog/document-key.js';
import type {
  DocumentOperation,
  EntryNamespace,
  NewShardOperation,
  OplogEntry,
  OplogOperation,
} from '../oplog/entry.js';
import { addDefinition, viewEvent } from './ddl-event.js';
import { beginEvent, finished, namespaceDoc, tokenOf, type EventPlace, type StreamEvent } from './event-start.js';
import type { EventStyle } from './event-style.js';
import { addPostImage, addPreImage } from './images.js';
import { describedUpdate } from './update-description.js';

const namespaceDocs = new WeakMap<EntryNamespace, RawDocument>();

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
      return definedEvent(place, operation);
  }
}

function documentEvent(place: EventPlace, operation: DocumentOperation): StreamEvent {
  const { style } = place;
  const described = operation.kind === 'update' ? describedUpdate(operation, style) : undefined;
  const operationType = operation.kind === 'update' && described === undefined ? 'replace' : operation.kind;
  const documentKey = documentKeyOf(operation, style);
  const event = beginEvent(place, { operationType, documentKey });
  const { doc } = event;
  if (operation.kind === 'insert') doc.set('fullDocument', new RawDocument(operation.document));
  else if (operationType === 'replace' && operation.kind === 'update')
    doc.set('fullDocument', new RawDocument(operation.after));
  const lookupLast = style.lookupLast && described !== undefined;
  if (described !== undefined && !lookupLast && operation.kind === 'update')
    addPostImage(doc, operation, documentKey, style);
  doc.set('ns', targetDoc(operation.target));
  doc.set('documentKey', documentKey);
  if (described !== undefined)
    doc.set(style.rawUpdateDescription ? 'rawUpdateDescription' : 'updateDescription', described);
  if (operation.kind !== 'insert') addPreImage(doc, operation, style);
  if (lookupLast && operation.kind === 'update') addPostImage(doc, operation, documentKey, style);
  return event;
}

function documentKeyOf(operation: DocumentOperation, style: EventStyle): Doc {
  const { target } = operation;
  if (operation.kind !== 'insert') return documentKeyFrom(operation.before, target.shardKey);
  if (!style.wholeDocumentKeys) return documentKeyFrom(operation.document, undefined);
  return documentKeyFrom(
    operation.document,
    target.shardKey ?? (style.version.atLeast(6) ? undefined : style.presentShardKey(target)),
  );
}

function definedEvent(
  place: EventPlace,
  operation: Exclude<OplogOperation, DocumentOperation | NewShardOperation | { kind: 'silent' }>,
): StreamEvent {
  switch (operation.kind) {
    case 'dropDatabase': {
      const event = beginEvent(place, { operationType: 'dropDatabase' });
      event.doc.set('ns', new Map([['db', operation.db]]));
      return event;
    }
    case 'drop': {
      const event = beginEvent(place, { operationType: 'drop' });
      event.doc.set('ns', targetDoc(operation.target));
      return event;
    }
    case 'rename': {
      const to = namespaceDoc(operation.to.db, operation.to.collection);
      const operationDescription: Doc = new Map<string, Value>([['to', to]]);
      if (operation.droppedTarget !== undefined) operationDescription.set('dropTarget', operation.droppedTarget);
      const event = beginEvent(place, { operationType: 'rename', operationDescription }, ['to', to]);
      event.doc.set('ns', targetDoc(operation.target));
      if (place.style.expanded) event.doc.set('operationDescription', operationDescription);
      return event;
    }
    case 'definition': {
      const event = beginEvent(place, {
        operationType: operation.event,
        operationDescription: operation.description,
        expanded: true,
      });
      event.doc.set('ns', targetDoc(operation.target));
      addDefinition(event.doc, operation, place.style.version);
      return event;
    }
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

function targetDoc(target: EntryNamespace): RawDocument {
  const known = namespaceDocs.get(target);
  if (known !== undefined) return known;
  const made = new RawDocument(encodeDocument(namespaceDoc(target.db, target.collection)));
  namespaceDocs.set(target, made);
  return made;
}
