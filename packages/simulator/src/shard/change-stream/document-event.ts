import { Int32 } from 'bson';
import { decodeDocument } from '../../bson/decode.js';
import { RawDocument, type Doc, type Value } from '../../bson/value.js';
import { describeDiff, disambiguatedPaths, updateDiff } from '../../update/describe.js';
import { documentKeyFrom, keyBefore } from '../oplog/document-key.js';
import type { DeleteOperation, DocumentOperation, UpdateOperation } from '../oplog/entry.js';
import { beginEvent, targetDoc, type EventPlace, type StreamEvent } from './event-start.js';
import type { EventStyle } from './event-style.js';
import { imageMissing } from './stream-failure.js';

/** The event of an insert, an update, a replacement or a delete. */
export function documentEvent(place: EventPlace, operation: DocumentOperation): StreamEvent {
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
  if (operation.kind !== 'insert') return keyBefore(operation);
  if (!style.wholeDocumentKeys) return documentKeyFrom(operation.document, undefined);
  if (style.version.atLeast(6)) return documentKeyFrom(operation.document, target.shardKey);
  return nested(documentKeyFrom(operation.document, target.shardKey ?? style.presentShardKey(target)));
}

/** Before 6.0 the key of an insert has the fields of the document, not their paths (`extractPathsFromDoc`). */
function nested(key: Doc): Doc {
  if (![...key.keys()].some((path) => path.includes('.'))) return key;
  const whole: Doc = new Map();
  for (const [path, value] of key) {
    const names = path.split('.');
    const last = names.pop() ?? path;
    let at = whole;
    for (const name of names) {
      const inner = at.get(name);
      const next: Doc = inner instanceof Map ? inner : new Map<string, Value>();
      at.set(name, next);
      at = next;
    }
    at.set(last, value);
  }
  return whole;
}

/** The changes of an update, as events show them. Undefined for a replacement. */
export function describedUpdate(operation: UpdateOperation, style: EventStyle): Doc | undefined {
  const { version } = style;
  const wholeDocument = operation.replacement || (operation.operators === undefined && !version.atLeast(5));
  if (wholeDocument) return undefined;
  const diff =
    operation.diff ??
    updateDiff(decodeDocument(operation.before), decodeDocument(operation.after), operation.operators);
  if (diff === undefined) return undefined;
  if (style.rawUpdateDescription) {
    return new Map<string, Value>([
      ['$v', new Int32(2)],
      ['diff', diff],
    ]);
  }
  const { updatedFields, removedFields, truncatedArrays } = describeDiff(diff);
  const description: Doc = new Map<string, Value>([
    ['updatedFields', updatedFields],
    ['removedFields', removedFields],
  ]);
  if (version.atLeast(5)) {
    description.set(
      'truncatedArrays',
      truncatedArrays.map(
        ({ field, newSize }) =>
          new Map<string, Value>([
            ['field', field],
            ['newSize', newSize],
          ]),
      ),
    );
  }
  if (style.expanded && version.atLeast(6, 1)) description.set('disambiguatedPaths', disambiguatedPaths(diff));
  return description;
}

/**
 * Adds the document before the change to an event, or null when it was not stored.
 * @throws CommandError 47 when it is required and was not stored
 */
function addPreImage(doc: Doc, operation: UpdateOperation | DeleteOperation, style: EventStyle): void {
  const mode = style.fullDocumentBeforeChange;
  if (mode === 'off') return;
  const kept = operation.target.preImages;
  if (!kept && mode === 'required') throw imageMissing('pre', doc);
  doc.set('fullDocumentBeforeChange', kept ? new RawDocument(operation.before) : null);
}

/**
 * Adds the document after the update to an event, or for `updateLookup` the current one. Null when it does not exist.
 * @throws CommandError 47 when it is required and the pre-image, from which it is derived, was not stored
 */
function addPostImage(doc: Doc, operation: UpdateOperation, documentKey: Doc, style: EventStyle): void {
  const mode = style.fullDocument;
  if (mode === 'default') return;
  const image =
    mode === 'updateLookup'
      ? style.lookup(operation.target, documentKey)
      : operation.target.preImages
        ? operation.after
        : undefined;
  if (image === undefined && mode === 'required') throw imageMissing('post', doc);
  doc.set('fullDocument', image === undefined ? null : new RawDocument(image));
}
