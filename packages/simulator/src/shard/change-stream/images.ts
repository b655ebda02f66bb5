import { RawDocument, type Doc } from '../../bson/value.js';
import type { DeleteOperation, OplogEntry, UpdateOperation } from '../oplog/entry.js';
import type { EventStyle } from './event-style.js';
import { imageMissing } from './stream-failure.js';

/**
 * Puts the document as it was before the change into an event, or null when it is not kept.
 * @throws CommandError 47 when it is required and not kept
 */
export function addPreImage(
  doc: Doc,
  entry: OplogEntry,
  operation: UpdateOperation | DeleteOperation,
  style: EventStyle,
): void {
  const mode = style.fullDocumentBeforeChange;
  if (mode === 'off') return;
  const kept = style.hasPreImage(entry, operation.target);
  if (!kept && mode === 'required') throw imageMissing('pre', doc);
  doc.set('fullDocumentBeforeChange', kept ? new RawDocument(operation.before) : null);
}

/**
 * Puts the document as an update left it, or for `updateLookup` as it is now, into an event; null when it is not there.
 * @throws CommandError 47 when it is required and the image before the update, which it is made from, is not kept
 */
export function addPostImage(
  doc: Doc,
  entry: OplogEntry,
  operation: UpdateOperation,
  documentKey: Doc,
  style: EventStyle,
): void {
  const mode = style.fullDocument;
  if (mode === 'default') return;
  const image =
    mode === 'updateLookup'
      ? style.lookup(operation.target, documentKey)
      : style.hasPreImage(entry, operation.target)
        ? operation.after
        : undefined;
  if (image === undefined && mode === 'required') throw imageMissing('post', doc);
  doc.set('fullDocument', image === undefined ? null : new RawDocument(image));
}
