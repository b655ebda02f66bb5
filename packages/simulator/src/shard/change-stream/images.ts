import { RawDocument, type Doc } from '../../bson/value.js';
import type { DeleteOperation, UpdateOperation } from '../oplog/entry.js';
import type { EventStyle } from './event-style.js';
import { imageMissing } from './stream-failure.js';

/**
 * Adds the document before the change to an event, or null when it was not stored.
 * @throws CommandError 47 when it is required and was not stored
 */
export function addPreImage(doc: Doc, operation: UpdateOperation | DeleteOperation, style: EventStyle): void {
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
export function addPostImage(doc: Doc, operation: UpdateOperation, documentKey: Doc, style: EventStyle): void {
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
