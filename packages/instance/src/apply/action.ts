import { Buffer } from 'node:buffer';
import { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import {
  cstringEnd,
  elementEnd,
  elementsOf,
  isNamed,
  type NamedElement,
  nullValue,
  rawValue,
  readDocument,
} from '../bson/scan.js';
import { hasZeroTimestamp, isConditionAt } from '../bson/sent-value.js';
import { fullKeyFilter, isOfId, isPlainCondition, type ShardKeyField } from '../bson/shard-key.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { RereadReason } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import { isRelated, isWithin, type PathChange, pathKey, pathsEqual } from './delta-paths.js';
import { type Delta, deltaBytesMax, deltaOf, deltaStagesMax, fieldsOf, type Folded, touchesKey } from './delta.js';

/** The change of one document: at most one statement of a write batch. */
export type Action =
  /** The document is not there yet; a duplicate key causes a re-read. */
  | { kind: 'insert'; filter: Uint8Array; document: Uint8Array }
  /** Writes exactly these bytes, whether or not the document is there. */
  | { kind: 'upsert'; filter: Uint8Array; document: Uint8Array }
  | { kind: 'delta'; filter: Uint8Array; delta: Delta }
  | { kind: 'delete'; filter: Uint8Array };

/** An event without exact action: its document is re-read. */
export interface RereadAction {
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
): Action | RereadAction {
  // The change of an orphan must not reach the live document with the same key.
  if (collection.showsOrphans && event.operation !== 'insert') return { kind: 'reread', reason: 'orphanEvent' };
  // Only a server says whether the document matches now: it joins or leaves the destination, or stays as it is.
  if (collection.documentFilter !== undefined && event.operation !== 'delete')
    return { kind: 'reread', reason: 'documentFilter' };
  if (collection.isSeries === true && event.operation === 'update') return { kind: 'reread', reason: 'bucket' };
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
): Action | RereadAction {
  const document = event.fullDocument;
  if (document === null) return { kind: 'reread', reason: 'inexactDelta' };
  const key = collection.destinationKey;
  // A replacement has the old document key, and an insert may have `_id` alone: the document has the new shard key.
  const filter = key.every(({ field }) => isOfId(field))
    ? keyFilter(event, collection)
    : fullKeyFilter(document, key, event.id);
  return { kind: hasZeroTimestamp(document) ? 'upsert' : kind, document, filter };
}

function replacement(event: ChangeEvent, collection: SyncedCollection): Action | RereadAction {
  const action = wholeDocument(event, collection, 'upsert');
  if (action.kind === 'reread' || collection.destinationKey.length === 0) return action;
  // Without a shard key on the source the event's key is `_id` alone and does not show the old shard key values.
  const before = keyFilter(event, collection);
  return sameBytes(before, action.filter) ? action : { kind: 'reread', reason: 'shardKeyChange' };
}

function update(event: ChangeEvent, collection: SyncedCollection, bounds: ReplayBounds): Action | RereadAction {
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

/** Bytes of an element beside its name and value: its type, and the zero byte after the name. */
const elementOverhead_bytes = 2;

/**
 * Merges two deltas, the earlier first, and may take over its collections. Null when they must stay two updates: they
 * are too large together, or the later one changes what the earlier one removes. Within a pipeline a server may keep
 * the position of a field that a stage removes, in embedded documents too, and a later stage sets it there. After an
 * update the position is lost: the field comes last. And two updates that remove one field remove two of that name.
 *
 * A field or path that both set keeps the position of the first value and has the last value: so the updates of a
 * counter stay one change, however many they are. One that the later delta appends comes last, whatever was before.
 */
export function mergeDeltas(earlier: Delta, later: Delta): Delta | null {
  if (earlier.removed.size > 0 && changesAnyOf(later, earlier.removed)) return null;
  const removed = later.removed.size === 0 ? earlier.removed : new Set([...earlier.removed, ...later.removed]);
  const both = { removed: removedAfter(removed, later), setsPresent: earlier.setsPresent && later.setsPresent };
  return earlier.form === 'paths' || later.form === 'paths'
    ? mergedPaths(earlier, later, both)
    : mergedFields(earlier, later, both);
}

/** What is known of two deltas together. */
type OfBoth = Pick<Delta, 'removed' | 'setsPresent'>;

/** The removed paths without those that a delta appends. */
function removedAfter(removed: Delta['removed'], later: Delta): Delta['removed'] {
  if (removed.size === 0 || later.form === 'fields') return removed;
  const appended =
    later.form === 'folded'
      ? [...later.append.keys()]
      : later.changes.filter(({ kind }) => kind === 'append').map(({ path }) => pathKey(path));
  if (appended.length === 0) return removed;
  return new Set([...removed].filter((key) => !appended.some((each) => key === each || key.startsWith(`${each}\0`))));
}

type FieldsDelta = Exclude<Delta, { form: 'paths' }>;

function mergedFields(earlier: FieldsDelta, later: FieldsDelta, both: OfBoth): Delta | null {
  const { set, unset, append, moves } = fieldsOf(earlier);
  const { set: laterSet, unset: laterUnset, append: laterAppend, moves: laterMoves } = fieldsOf(later);
  let bytes = earlier.bytes + later.bytes;
  for (const name of [...laterSet.keys(), ...laterAppend.keys()]) {
    const replaced = (set.get(name) ?? append.get(name))?.element;
    if (replaced !== undefined) bytes -= replaced.end - replaced.start + name.length + elementOverhead_bytes;
  }
  if (bytes > deltaBytesMax) return null;
  const movesSome = [...laterAppend.keys()].some((name) => set.has(name) || unset.has(name));
  for (const [name, value] of laterSet) (append.has(name) ? append : set).set(name, value);
  for (const name of laterUnset) {
    append.delete(name);
    unset.add(name);
  }
  for (const [name, value] of laterAppend) {
    for (const part of [set, unset, append]) part.delete(name);
    append.set(name, value);
  }
  return { form: 'folded', set, unset, append, moves: moves || laterMoves || movesSome, bytes, ...both };
}

function mergedPaths(earlier: Delta, later: Delta, both: OfBoth): Delta | null {
  let changes = changesOf(earlier);
  let bytes = earlier.bytes + later.bytes;
  for (const change of changesOf(later)) {
    if (change.kind === 'append') {
      for (const { value } of changes.filter(({ path }) => isWithin(path, change.path)))
        bytes -= value?.bytes.length ?? 0;
      changes = changes.filter(({ path }) => !isWithin(path, change.path));
    }
    const at = replaceable(changes, change);
    const replaced = at === null ? undefined : changes[at];
    if (at === null || replaced === undefined) changes.push(change);
    else {
      bytes -= replaced.value?.bytes.length ?? 0;
      changes[at] = { ...change, kind: replaced.kind };
    }
  }
  if (bytes > deltaBytesMax || changes.length > deltaStagesMax) return null;
  return { form: 'paths', changes, bytes, ...both };
}

/** The changes one by one, in a new array. */
function changesOf(delta: Delta): PathChange[] {
  if (delta.form === 'paths') return [...delta.changes];
  const { set, unset, append } = fieldsOf(delta);
  const valued = (fields: typeof set, kind: 'set' | 'append'): PathChange[] =>
    [...fields].map(([name, { source, element }]) => ({ path: [name], kind, value: rawValue(source, element) }));
  return [
    ...valued(set, 'set'),
    ...[...unset].map((name): PathChange => ({ path: [name], kind: 'unset' })),
    ...valued(append, 'append'),
  ];
}

/**
 * Index of an earlier change whose value the later one replaces: the later one sets the path that the earlier one sets
 * or appends, and no change between them touches it, what is inside of it or what it is inside of. Null without one.
 */
function replaceable(changes: readonly PathChange[], later: PathChange): number | null {
  if (later.kind !== 'set') return null;
  for (let at = changes.length - 1; at >= 0; at -= 1) {
    const change = changes[at];
    if (change === undefined || !isRelated(change.path, later.path)) continue;
    return change.value !== undefined && pathsEqual(change.path, later.path) ? at : null;
  }
  return null;
}

/** Whether a delta sets or removes one of the paths, or changes a part of one. */
function changesAnyOf(delta: Delta, paths: ReadonlySet<string>): boolean {
  if (delta.form === 'paths')
    return delta.changes.some(({ path, kind }) =>
      path.some(
        (_, depth) => (kind !== 'append' || depth < path.length - 1) && paths.has(pathKey(path.slice(0, depth + 1))),
      ),
    );
  const { set, unset } = fieldsOf(delta);
  return [...set.keys(), ...unset].some((name) => paths.has(name));
}

/** Larger documents are not rewritten for every delta: the delta waits for the next batch. */
const documentBytesMax = 256 * 1024;
/** Extra capacity of the builder, beside the delta's bytes. */
const growth_bytes = 64;

/**
 * Applies a delta as the server does: fields keep their position, new and appended ones come last.
 * @returns null when the delta does not fit the document, the document is too large, or it repeats a changed field
 */
export function changedDocument(document: Uint8Array, delta: Delta): Uint8Array | null {
  if (document.length > documentBytesMax) return null;
  if (delta.form !== 'paths') return fieldsChanged(document, fieldsOf(delta), delta.bytes);
  let changed: Uint8Array | null = document;
  for (const change of delta.changes) changed = changed === null ? null : pathChanged(changed, change, 0);
  return changed;
}

function fieldsChanged(document: Uint8Array, { set, unset, append }: Folded, bytes: number): Uint8Array | null {
  const changed = new Set<string>();
  const builder = new DocumentBuilder(document.length + bytes + growth_bytes);
  for (const element of elementsOf(document)) {
    const change = set.get(element.name);
    const isRemoved = unset.has(element.name) || append.has(element.name);
    if (change !== undefined || isRemoved) {
      if (changed.has(element.name)) return null;
      changed.add(element.name);
    }
    if (isRemoved) continue;
    if (change === undefined) builder.copied(document, element.nameStart, element);
    else builder.copied(change.source, change.element.nameStart, change.element);
  }
  for (const [name, { source, element }] of set)
    if (!changed.has(name) && !unset.has(name)) builder.copied(source, element.nameStart, element);
  for (const { source, element } of append.values()) builder.copied(source, element.nameStart, element);
  return builder.finish();
}

/**
 * @param document the bytes of a document or, where the path continues with an index, of an array
 * @param depth how many parts of the change's path lead to it
 */
function pathChanged(document: Uint8Array, change: PathChange, depth: number): Uint8Array | null {
  const part = change.path[depth];
  if (part === undefined) return change.kind === 'truncate' ? truncated(document, change.newSize ?? 0) : null;
  const builder = new DocumentBuilder(document.length + (change.value?.bytes.length ?? 0) + growth_bytes);
  const isAppended = change.kind === 'append' && depth === change.path.length - 1;
  let elements = 0;
  let isFound = false;
  for (const element of elementsOf(document)) {
    const isPart = part === (typeof part === 'number' ? elements : element.name);
    elements += 1;
    if (!isPart) {
      builder.copied(document, element.nameStart, element);
      continue;
    }
    // A server changes the first field of a name.
    if (isFound) return null;
    isFound = true;
    if (isAppended) continue;
    if (!writeChanged(builder, document, element, change, depth)) return null;
  }
  if (isFound && !isAppended) return builder.finish();
  const isLast = depth === change.path.length - 1;
  // Of two updates as one, the first adds the field.
  if (isLast && change.kind === 'unset') return document;
  if (!isLast || change.value === undefined) return null;
  // Nulls fill a gap after the array's last element.
  if (typeof part === 'number') for (; elements < part; elements += 1) builder.raw(String(elements), nullValue);
  return builder.raw(String(part), change.value).finish();
}

/** Writes a changed element; false when the path does not continue in it. */
function writeChanged(
  builder: DocumentBuilder,
  document: Uint8Array,
  element: NamedElement,
  change: PathChange,
  depth: number,
): boolean {
  const next = change.path[depth + 1];
  if (next === undefined && change.kind === 'unset') return true;
  if (next === undefined && change.value !== undefined) {
    builder.raw(element.name, change.value);
    return true;
  }
  const type = next === undefined || typeof next === 'number' ? elementType.array : elementType.document;
  const inner = element.type === type ? pathChanged(readDocument(document, element), change, depth + 1) : null;
  if (inner !== null) builder.document(element.name, inner, type);
  return inner !== null;
}

function truncated(array: Uint8Array, newSize: number): Uint8Array {
  const builder = new DocumentBuilder(array.length + growth_bytes);
  let index = 0;
  for (const element of elementsOf(array)) {
    if (index < newSize) builder.copied(array, element.nameStart, element);
    index += 1;
  }
  return builder.finish();
}
