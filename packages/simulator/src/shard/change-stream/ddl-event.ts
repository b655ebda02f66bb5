import { decodeDocument } from '../../bson/decode.js';
import type { Doc } from '../../bson/value.js';
import { textOrEmpty } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { DdlOperation, DocumentOperation } from '../oplog/entry.js';
import { beginEvent, namespaceDoc, type EventPlace, type StreamEvent } from './event-start.js';

/** The fields after the namespace that only streams with expanded events show. */
export function addDefinition(doc: Doc, operation: DdlOperation, version: ServerVersion): void {
  doc.set('operationDescription', operation.description);
  if (operation.event === 'create') addNamespaceType(doc, operation.description, version);
  if (operation.stateBeforeChange !== undefined) doc.set('stateBeforeChange', operation.stateBeforeChange);
}

/** What a change of `system.views` does to a view: `create`, `modify` or `drop`. Its `_id` is the view's namespace. */
export function viewEvent(place: EventPlace, operation: DocumentOperation): StreamEvent {
  const document = decodeDocument(
    operation.kind === 'insert' ? operation.document : operation.kind === 'update' ? operation.after : operation.before,
  );
  const id = document.get('_id');
  const namespace = typeof id === 'string' ? id : '';
  document.delete('_id');
  const operationType = operation.kind === 'insert' ? 'create' : operation.kind === 'update' ? 'modify' : 'drop';
  const operationDescription = operation.kind === 'delete' ? undefined : document;
  const event = beginEvent(place, { operationType, operationDescription, expanded: operationType !== 'drop' });
  event.doc.delete('collectionUUID');
  const dot = namespace.indexOf('.');
  event.doc.set('ns', namespaceDoc(namespace.slice(0, dot), namespace.slice(dot + 1)));
  if (operationDescription !== undefined) event.doc.set('operationDescription', operationDescription);
  if (operationType === 'create') addNamespaceType(event.doc, document, place.style.version);
  return event;
}

/** `nsType` of `create`, which 8.0.10 has. */
function addNamespaceType(doc: Doc, description: Doc, version: ServerVersion): void {
  if (!version.atLeast(8, 0)) return;
  const isView = description.has('viewOn');
  const isTimeSeries = isView && textOrEmpty(description.get('viewOn')).startsWith('system.buckets.');
  doc.set('nsType', isTimeSeries ? 'timeseries' : isView ? 'view' : 'collection');
}
