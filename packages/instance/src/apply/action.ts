import { Buffer } from 'node:buffer';
import { isConditionAt, hasZeroTimestamp } from '../bson/sent-value.js';
import { cstringEnd, elementEnd, isNamed } from '../bson/scan.js';
import { fullKeyFilter, isOfId, isPlainCondition, type ShardKeyField } from '../bson/shard-key.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { RereadReason } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { changedDocument } from './changed-document.js';
import { type Delta, touchesKey } from './delta.js';
import { deltaOf } from './diff-delta.js';
import { mergeDeltas } from './fold-deltas.js';

/** The change of one document: at most one statement of a write batch. */
export type Action =
  /** The document is not there yet; a duplicate key causes a re-read. */
  | { kind: 'insert'; filter: Uint8Array; document: Uint8Array }
  /** Writes exactly these bytes, whether or not the document is there. */
  | { kind: 'upsert'; filter: Uint8Array; document: Uint8Array }
  | { kind: 'delta'; filter: Uint8Array; delta: Delta }
  | { kind: 'delete'; filter: Uint8Array };

/** An event without exact action: its document is re-read. */
export interface RereadRequest {
  kind: 'reread';
  reason: RereadReason;
}

export interface ReplayBounds {
  /** Events up to here may have been applied before a restart: whole documents are upserted, deltas cause a re-read. */
  watermark: bigint;
  /** The partition's copy may include transactions up to here; of a capped collection, all changes. */
  readEnd: bigint | null;
}

/** Returns the exact action of an event, or the reason why its document must be re-read. */
export function actionOf(
  event: ChangeEvent,
  collection: SyncedCollection,
  bounds: ReplayBounds,
): Action | RereadRequest {
  // The change of an orphan must not reach the live document with the same key.
  if (collection.showsOrphans && event.operation !== 'insert') return { kind: 'reread', reason: 'orphanEvent' };
  // Only a server says whether the document matches now: it joins or leaves the destination, or stays as it is.
  if (collection.documentFilter !== undefined && event.operation !== 'delete')
    return { kind: 'reread', reason: 'documentFilter' };
  switch (event.operation) {
    case 'insert':
      return wholeDocument(event, collection, event.time <= bounds.watermark ? 'upsert' : 'insert');
    case 'replace':
      return replacement(event, collection);
    case 'delete':
      return { kind: 'delete', filter: keyFilter(event, collection) };
    case 'update':
      return update(event, collection, bounds);
  }
}

/** Removes the document under the event's key: the action for an event of a dirty partition before its next attempt. */
export function removalOf(event: ChangeEvent, collection: SyncedCollection): Action {
  return { kind: 'delete', filter: keyFilter(event, collection) };
}

/** The filter of an event: the destination's full document key, or `_id` alone when the source has no shard key. */
function keyFilter(event: ChangeEvent, collection: SyncedCollection): Uint8Array {
  const known = collection.sourceKey.length > 0 || collection.destinationKey.length === 0;
  const key = known ? collection.destinationKey : [];
  // Nearly always the event's own document key is already the filter.
  return isFilter(event.documentKey, key)
    ? event.documentKey
    : fullKeyFilter(event.documentKey, key, event.id, 'documentKey');
}

/**
 * Whether a document key consists of the shard key's fields, with values that match only themselves, and then `_id`.
 */
function isFilter(documentKey: Uint8Array, key: readonly ShardKeyField[]): boolean {
  let at = 4;
  for (const { field } of key) {
    if (field === '_id') continue;
    if (isOfId(field)) return false;
    const type = documentKey[at] ?? 0;
    if (!isNamed(documentKey, at + 1, field)) return false;
    const start = cstringEnd(documentKey, at + 1) + 1;
    if (!isPlainCondition(documentKey, type, start)) return false;
    at = elementEnd(documentKey, type, start);
  }
  const type = documentKey[at] ?? 0;
  if (type === 0 || !isNamed(documentKey, at + 1, '_id')) return false;
  const start = at + 1 + '_id'.length + 1;
  return !isConditionAt(documentKey, type, start) && documentKey[elementEnd(documentKey, type, start)] === 0;
}

function wholeDocument(
  event: ChangeEvent,
  collection: SyncedCollection,
  kind: 'insert' | 'upsert',
): Action | RereadRequest {
  const document = event.fullDocument;
  if (document === null) return { kind: 'reread', reason: 'inexactDelta' };
  const key = collection.destinationKey;
  // A replacement has the old document key, and an insert may have `_id` alone: the document has the new shard key.
  const filter = key.every(({ field }) => isOfId(field))
    ? keyFilter(event, collection)
    : fullKeyFilter(document, key, event.id);
  return { kind: hasZeroTimestamp(document) ? 'upsert' : kind, document, filter };
}

function replacement(event: ChangeEvent, collection: SyncedCollection): Action | RereadRequest {
  const action = wholeDocument(event, collection, 'upsert');
  if (action.kind === 'reread' || collection.destinationKey.length === 0) return action;
  // Without a shard key on the source the event's key is `_id` alone and does not show the old shard key values.
  const before = keyFilter(event, collection);
  return sameBytes(before, action.filter) ? action : { kind: 'reread', reason: 'shardKeyChange' };
}

function update(event: ChangeEvent, collection: SyncedCollection, bounds: ReplayBounds): Action | RereadRequest {
  if (event.time <= bounds.watermark) return { kind: 'reread', reason: 'replayedDelta' };
  if (bounds.readEnd !== null && event.time <= bounds.readEnd) {
    if (event.inTransaction) return { kind: 'reread', reason: 'preparedTransaction' };
    // A capped collection is not read at one time: its documents may or may not include the change.
    if (collection.capped) return { kind: 'reread', reason: 'replayedDelta' };
  }
  const delta = event.updateDescription === null ? null : deltaOf(event.updateDescription);
  if (delta === null) return { kind: 'reread', reason: 'inexactDelta' };
  const touched = touchesKey(delta, collection.sourceKey) || touchesKey(delta, collection.destinationKey);
  if (touched) return { kind: 'reread', reason: 'shardKeyChange' };
  return { kind: 'delta', filter: keyFilter(event, collection), delta };
}

/**
 * Folds a later action of a document into an earlier one of the same batch.
 * @returns null when they need two statements
 */
export function foldActions(earlier: Action, later: Action): Action | null {
  if (!sameBytes(earlier.filter, later.filter)) return null;
  switch (later.kind) {
    case 'delete':
      return later;
    case 'insert':
    case 'upsert':
      return { ...later, kind: earlier.kind === 'insert' && !hasZeroTimestamp(later.document) ? 'insert' : 'upsert' };
    case 'delta':
      return withDelta(earlier, later);
  }
}

function withDelta(earlier: Action, later: Action & { kind: 'delta' }): Action | null {
  switch (earlier.kind) {
    case 'delete':
      return null;
    case 'delta': {
      const delta = mergeDeltas(earlier.delta, later.delta);
      return delta === null ? null : { ...later, delta };
    }
    case 'insert':
    case 'upsert': {
      const document = changedDocument(earlier.document, later.delta);
      return document === null
        ? null
        : { ...earlier, kind: hasZeroTimestamp(document) ? 'upsert' : earlier.kind, document };
    }
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
