import { decodeDocument } from '../../bson/decode.js';
import type { Doc, Value } from '../../bson/value.js';
import { textOrEmpty } from '../../node/doc-fields.js';
import type { ServerVersion } from '../../node/server-version.js';
import type { DdlOperation, DocumentOperation, NewShardOperation, OplogOperation } from '../oplog/entry.js';
import { beginEvent, namespaceDoc, targetDoc, type EventPlace, type StreamEvent } from './event-start.js';

/** The event of a change of a definition: of a database, a collection or its indexes. */
export function ddlEvent(
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

/** The fields after the namespace that only streams with expanded events show. */
function addDefinition(doc: Doc, operation: DdlOperation, version: ServerVersion): void {
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
