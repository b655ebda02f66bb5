import { BSON, Int32, ObjectId } from 'mongodb';
import { elementType } from './element-type.js';
import { decodeUtf8 } from './utf8.js';

/** Where an element's value lies: bytes from `start` (inclusive) to `end` (exclusive) of the buffer it was found in. */
export interface RawElement {
  type: number;
  start: number;
  end: number;
}

/** An element together with its field name. */
export interface NamedElement extends RawElement {
  /** The name, decoded by `decodeUtf8`: two names are equal exactly if their bytes are. */
  name: string;
  /** Where the name's bytes start. */
  nameStart: number;
}

/** A 32-bit little-endian integer at `at`. */
export function int32At(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

/** The same bytes as a Buffer, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Position of the zero byte that ends the text beginning at `at`. */
export function cstringEnd(bytes: Uint8Array, at: number): number {
  let end = at;
  while (bytes[end] !== 0) {
    if (end >= bytes.length) throw new RangeError('Malformed BSON: a name without end');
    end += 1;
  }
  return end;
}

/** Position after the value of this type that begins at `start`. */
function valueEnd(bytes: Uint8Array, type: number, start: number): number {
  switch (type) {
    case elementType.double:
    case elementType.date:
    case elementType.timestamp:
    case elementType.long:
      return start + 8;
    case elementType.string:
    case elementType.code:
    case elementType.symbol:
      return start + 4 + int32At(bytes, start);
    case elementType.document:
    case elementType.array:
    case elementType.codeWithScope:
      return start + int32At(bytes, start);
    case elementType.binary:
      return start + 5 + int32At(bytes, start);
    case elementType.undefined:
    case elementType.null:
    case elementType.minKey:
    case elementType.maxKey:
      return start;
    case elementType.objectId:
      return start + 12;
    case elementType.bool:
      return start + 1;
    case elementType.regex:
      return cstringEnd(bytes, cstringEnd(bytes, start) + 1) + 1;
    case elementType.dbPointer:
      return start + 4 + int32At(bytes, start) + 12;
    case elementType.int32:
      return start + 4;
    case elementType.decimal:
      return start + 16;
    default:
      throw new RangeError(`Malformed BSON: unknown type 0x${type.toString(16)}`);
  }
}

/**
 * Position after an element's value that begins at `start`.
 * @throws RangeError when it lies beyond the end of the bytes
 */
export function elementEnd(bytes: Uint8Array, type: number, start: number): number {
  const end = valueEnd(bytes, type, start);
  if (end < start || end > bytes.length) throw new RangeError('Malformed BSON: a value reaches beyond its document');
  return end;
}

/** Whether the zero-terminated text at `start` is `name`. */
export function isNamed(bytes: Uint8Array, start: number, name: string): boolean {
  const length = name.length;
  for (let i = 0; i < length; i += 1) {
    const code = name.charCodeAt(i);
    if (code > 0x7f) return decodeUtf8(bufferOf(bytes), start, cstringEnd(bytes, start)) === name;
    if (bytes[start + i] !== code) return false;
  }
  return bytes[start + length] === 0;
}

function findFrom(bytes: Uint8Array, documentStart: number, name: string): RawElement | null {
  let at = documentStart + 4;
  for (;;) {
    const type = bytes[at];
    if (type === undefined) throw new RangeError('Malformed BSON: a document without end');
    if (type === 0) return null;
    const start = cstringEnd(bytes, at + 1) + 1;
    const end = elementEnd(bytes, type, start);
    if (isNamed(bytes, at + 1, name)) return { type, start, end };
    at = end;
  }
}

/**
 * Finds a top-level field without decoding anything.
 * @param bytes one BSON document
 * @throws RangeError when the bytes are no BSON
 */
export function findElement(bytes: Uint8Array, name: string): RawElement | null {
  return findFrom(bytes, 0, name);
}

/**
 * Finds a field by its path; descends into embedded documents only, never into arrays.
 * @param path at least one name
 */
export function findPath(bytes: Uint8Array, path: readonly string[]): RawElement | null {
  let found: RawElement = { type: elementType.document, start: 0, end: bytes.length };
  for (const name of path) {
    if (found.type !== elementType.document) return null;
    const next = findFrom(bytes, found.start, name);
    if (next === null) return null;
    found = next;
  }
  return found;
}

/** The same as `elementsOf`, without the decoded names. */
export function* undecodedElementsOf(bytes: Uint8Array): Generator<Omit<NamedElement, 'name'>> {
  let at = 4;
  for (let type = bytes[at]; type !== undefined && type !== 0; type = bytes[at]) {
    const start = cstringEnd(bytes, at + 1) + 1;
    const end = elementEnd(bytes, type, start);
    yield { nameStart: at + 1, type, start, end };
    at = end;
  }
}

/** All elements of a document or array in order; `start` and `end` are offsets in `bytes`. */
export function* elementsOf(bytes: Uint8Array): Generator<NamedElement> {
  let at = 4;
  for (;;) {
    const type = bytes[at];
    if (type === undefined) throw new RangeError('Malformed BSON: a document without end');
    if (type === 0) return;
    const nameEnd = cstringEnd(bytes, at + 1);
    const end = elementEnd(bytes, type, nameEnd + 1);
    yield { name: decodeUtf8(bufferOf(bytes), at + 1, nameEnd), nameStart: at + 1, type, start: nameEnd + 1, end };
    at = end;
  }
}

function expectType(element: RawElement, ...types: number[]): void {
  if (!types.includes(element.type)) throw new TypeError(`Unexpected BSON type 0x${element.type.toString(16)}`);
}

/** The text of a string or symbol, as `decodeUtf8` gives it. */
export function readString(bytes: Uint8Array, element: RawElement): string {
  expectType(element, elementType.string, elementType.symbol);
  return decodeUtf8(bufferOf(bytes), element.start + 4, element.end - 1);
}

/** A timestamp as seconds × 2^32 + increment. */
export function readTimestamp(bytes: Uint8Array, element: RawElement): bigint {
  expectType(element, elementType.timestamp);
  return bufferOf(bytes).readBigUInt64LE(element.start);
}

/** A number of any type but decimal as a JavaScript number; 64-bit integers may lose precision. */
export function readNumber(bytes: Uint8Array, element: RawElement): number {
  switch (element.type) {
    case elementType.int32:
      return int32At(bytes, element.start);
    case elementType.double:
      return bufferOf(bytes).readDoubleLE(element.start);
    case elementType.long:
      return Number(bufferOf(bytes).readBigInt64LE(element.start));
    default:
      throw new TypeError(`Unexpected BSON type 0x${element.type.toString(16)}`);
  }
}

/** The bytes of an embedded document or array: a view, not a copy. */
export function readDocument(bytes: Uint8Array, element: RawElement): Uint8Array {
  expectType(element, elementType.document, elementType.array);
  return bytes.subarray(element.start, element.end);
}

/** A BSON value cut out of its document: the type byte and the bytes after the field name. */
export class RawValue {
  constructor(
    readonly type: number,
    readonly bytes: Uint8Array,
  ) {}
}

const noBytes = new Uint8Array(0);
export const minKey = new RawValue(elementType.minKey, noBytes);
export const maxKey = new RawValue(elementType.maxKey, noBytes);
export const nullValue = new RawValue(elementType.null, noBytes);

/** Cuts a value out as a view. The view keeps the whole buffer alive: use `ownedValue` for values that live longer. */
export function rawValue(bytes: Uint8Array, element: RawElement): RawValue {
  return new RawValue(element.type, bytes.subarray(element.start, element.end));
}

/** The same value with its own bytes, for storing. */
export function ownedValue(value: RawValue): RawValue {
  return new RawValue(value.type, Buffer.from(value.bytes));
}

/** The value of a top-level field as a view, or null when the field is missing. */
export function findValue(bytes: Uint8Array, name: string): RawValue | null {
  const element = findElement(bytes, name);
  return element === null ? null : rawValue(bytes, element);
}

/** Encodes a JavaScript or driver value; `undefined` becomes null. */
export function encodeValue(value: unknown): RawValue {
  const bytes = BSON.serialize({ v: value === undefined ? null : value });
  const element = findElement(bytes, 'v');
  if (element === null) throw new TypeError('The value cannot be encoded as BSON');
  return rawValue(bytes, element);
}

/** Decodes into driver classes (Int32, Long, Double, BSONRegExp, …), so that no type is lost. */
export function decodeValue(value: RawValue): unknown {
  // Most `_id`s, which need no document around them.
  if (value.type === elementType.int32) return new Int32(int32At(value.bytes, 0));
  if (value.type === elementType.objectId) return new ObjectId(Uint8Array.from(value.bytes));
  const size = 4 + 3 + value.bytes.length + 1;
  const bytes = Buffer.alloc(size);
  bytes.writeInt32LE(size, 0);
  bytes[4] = value.type;
  bytes.write('v', 5, 'latin1');
  bytes.set(value.bytes, 7);
  const document: { v?: unknown } = BSON.deserialize(bytes, { promoteValues: false, bsonRegExp: true });
  return document.v;
}
