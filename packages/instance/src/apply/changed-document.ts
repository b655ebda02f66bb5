import { DocumentBuilder } from '../bson/build.js';
import { elementType } from '../bson/element-type.js';
import { elementsOf, type NamedElement, nullValue, readDocument } from '../bson/scan.js';
import { type Delta, fieldsOf, type Folded } from './delta.js';
import type { PathChange } from './delta-paths.js';

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
