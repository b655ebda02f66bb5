import { Timestamp } from 'bson';
import { CommandError } from '../node/command.js';
import { decodeValue } from './decode.js';
import { asBuffer, ElementType, readInt32, valueEnd } from './element-type.js';
import { encodeElement } from './encode.js';
import { decodeUtf8, encodeUtf8 } from './utf8.js';
import type { Doc, Value } from './value.js';

/** Where one element lies in a document's bytes. */
export interface ElementLocation {
  type: number;
  /** Index of the type byte. */
  start: number;
  /** Index of the value's first byte. */
  valueStart: number;
  /** Index after the value. */
  end: number;
}

/** Paths with their names split and encoded. The cache is emptied when it is full. */
const PATHS_MAX = 1024;
const paths = new Map<string, readonly Buffer[]>();
const names = new Map<string, Buffer>();
const idName = Buffer.from('_id');

/**
 * The value at a dotted path through embedded documents (not arrays), without decoding the rest.
 * @returns undefined when there is none
 */
export function scanPath(bytes: Uint8Array, path: string): Value | undefined {
  let from = 0;
  let found: ElementLocation | undefined;
  for (const name of pathNames(path)) {
    if (found !== undefined && found.type !== ElementType.document) return undefined;
    found = findElement(bytes, from, name);
    if (found === undefined) return undefined;
    from = found.valueStart;
  }
  return found === undefined ? undefined : decodeValue(bytes, found.type, found.valueStart);
}

/** The position of a top-level field, or undefined. */
export function scanTopLevel(bytes: Uint8Array, name: string): ElementLocation | undefined {
  return findElement(bytes, 0, encodedName(name));
}

/** The named top-level fields that exist, decoded, in the order of the names. */
export function decodeFields(bytes: Uint8Array, names: readonly string[]): Doc {
  const fields: Doc = new Map();
  for (const name of names) {
    const element = scanTopLevel(bytes, name);
    if (element !== undefined) fields.set(name, decodeValue(bytes, element.type, element.valueStart));
  }
  return fields;
}

/** The elements of the document that begins at `from`, in order. */
export function* scanElements(bytes: Uint8Array, from = 0): Generator<ElementLocation> {
  const limit = from + readInt32(bytes, from) - 1;
  let at = from + 4;
  while (at < limit) {
    const element = elementAt(bytes, at, limit);
    yield element;
    at = element.end;
  }
}

/**
 * A document as a server stores it on insert: `_id` is its first field.
 * @param makeId returns the `_id` of a document that has none
 * @returns the same bytes when nothing needs to change
 */
export function withIdFirst(bytes: Uint8Array, makeId: () => Value): Uint8Array {
  if (beginsWithId(bytes)) return bytes;
  const id = findElement(bytes, 0, idName);
  if (id === undefined) return prepend(bytes, encodeElement('_id', makeId()));
  const moved = Buffer.allocUnsafe(bytes.length);
  const length = id.end - id.start;
  moved.set(bytes.subarray(0, 4), 0);
  moved.set(bytes.subarray(id.start, id.end), 4);
  moved.set(bytes.subarray(4, id.start), 4 + length);
  moved.set(bytes.subarray(id.end), id.end);
  return moved;
}

/** Types of an `_id` that are refused, or need a closer look. */
const examinedIdTypes: ReadonlySet<number> = new Set([
  ElementType.document,
  ElementType.array,
  ElementType.regex,
  ElementType.undefined,
]);

/**
 * True for a document that a server stores unchanged: its `_id` comes first and is plain, and no top-level field is an
 * empty timestamp.
 */
export function isStoredAsItIs(bytes: Uint8Array): boolean {
  if (!beginsWithId(bytes) || examinedIdTypes.has(bytes[4] ?? 0)) return false;
  const limit = readInt32(bytes, 0) - 1;
  let at = 4;
  while (at < limit) {
    const type = bytes[at] ?? 0;
    if (type === ElementType.timestamp) return false;
    at = checkedEnd(bytes, type, afterName(bytes, at + 1, limit), limit);
  }
  return true;
}

function beginsWithId(bytes: Uint8Array): boolean {
  return nameEquals(bytes, 5, idName);
}

/**
 * Replaces `Timestamp(0, 0)` in top-level fields other than `_id`, as inserts and replacements do.
 * @param next returns a new time for each such field
 * @returns the same bytes when there is none
 */
export function stampTimestamps(bytes: Uint8Array, next: () => Timestamp): Uint8Array {
  let stamped: Buffer | undefined;
  const limit = readInt32(bytes, 0) - 1;
  let at = 4;
  while (at < limit) {
    const type = bytes[at] ?? 0;
    const valueStart = afterName(bytes, at + 1, limit);
    if (type === ElementType.timestamp && isZeroTimestamp(bytes, valueStart) && !nameEquals(bytes, at + 1, idName)) {
      stamped ??= Buffer.from(bytes);
      const time = next();
      stamped.writeUInt32LE(time.i, valueStart);
      stamped.writeUInt32LE(time.t, valueStart + 4);
    }
    at = checkedEnd(bytes, type, valueStart, limit);
  }
  return stamped ?? bytes;
}

/** The name of an element. */
export function elementName(bytes: Uint8Array, element: ElementLocation): string {
  return decodeUtf8(asBuffer(bytes), element.start + 1, element.valueStart - 1);
}

function isZeroTimestamp(bytes: Uint8Array, at: number): boolean {
  return readInt32(bytes, at) === 0 && readInt32(bytes, at + 4) === 0;
}

function prepend(bytes: Uint8Array, element: Uint8Array): Buffer {
  const longer = Buffer.allocUnsafe(bytes.length + element.length);
  longer.writeInt32LE(bytes.length + element.length, 0);
  longer.set(element, 4);
  longer.set(bytes.subarray(4), 4 + element.length);
  return longer;
}

function findElement(bytes: Uint8Array, from: number, name: Buffer): ElementLocation | undefined {
  const limit = from + readInt32(bytes, from) - 1;
  let at = from + 4;
  while (at < limit) {
    if (nameEquals(bytes, at + 1, name)) return elementAt(bytes, at, limit);
    at = checkedEnd(bytes, bytes[at] ?? 0, afterName(bytes, at + 1, limit), limit);
  }
  return undefined;
}

function elementAt(bytes: Uint8Array, start: number, limit: number): ElementLocation {
  const type = bytes[start] ?? 0;
  const valueStart = afterName(bytes, start + 1, limit);
  return { type, start, valueStart, end: checkedEnd(bytes, type, valueStart, limit) };
}

/** Index after the zero that ends a name. Names are short, so a loop beats a call of `indexOf`. */
function afterName(bytes: Uint8Array, nameStart: number, limit: number): number {
  let at = nameStart;
  while (bytes[at] !== 0 && at < limit) at += 1;
  return at + 1;
}

function checkedEnd(bytes: Uint8Array, type: number, start: number, limit: number): number {
  const end = valueEnd(bytes, type, start);
  if (end < start || end > limit) throw new CommandError(22, 'InvalidBSON', 'value exceeds its document');
  return end;
}

function nameEquals(bytes: Uint8Array, at: number, name: Buffer): boolean {
  for (let index = 0; index < name.length; index += 1) if (bytes[at + index] !== name[index]) return false;
  return bytes[at + name.length] === 0;
}

function pathNames(path: string): readonly Buffer[] {
  const known = paths.get(path);
  if (known !== undefined) return known;
  const split = path.split('.').map(encodeUtf8);
  if (paths.size >= PATHS_MAX) paths.clear();
  paths.set(path, split);
  return split;
}

function encodedName(name: string): Buffer {
  const known = names.get(name);
  if (known !== undefined) return known;
  const encoded = encodeUtf8(name);
  if (names.size >= PATHS_MAX) names.clear();
  names.set(name, encoded);
  return encoded;
}
