import type { Binary, BSONRegExp, Code, DBRef, ObjectId, Timestamp } from 'bson';
import type { Collation } from './collation.js';
import { decodeDocument } from './decode.js';
import { ElementType } from './element-type.js';
import { compareNumbers, type NumberValue } from './exact-number.js';
import { typeOf } from './type-of.js';
import { encodeUtf8 } from './utf8.js';
import { type DateTime, type Doc, RawDocument, type Value } from './value.js';

/**
 * Rank of each type in the server's order. Types of one rank compare by value. Undefined ranks with a missing field.
 */
const ranks = new Uint8Array(256);
ranks[ElementType.minKey] = 0;
ranks[ElementType.undefined] = 1;
ranks[ElementType.null] = 6;
for (const type of [ElementType.int32, ElementType.double, ElementType.int64, ElementType.decimal128]) ranks[type] = 11;
ranks[ElementType.string] = 16;
ranks[ElementType.symbol] = 16;
ranks[ElementType.document] = 21;
ranks[ElementType.array] = 26;
ranks[ElementType.binary] = 31;
ranks[ElementType.objectId] = 36;
ranks[ElementType.boolean] = 41;
ranks[ElementType.date] = 46;
ranks[ElementType.timestamp] = 48;
ranks[ElementType.regex] = 51;
ranks[ElementType.dbPointer] = 56;
ranks[ElementType.code] = 61;
ranks[ElementType.codeWithScope] = 66;
ranks[ElementType.maxKey] = 128;

/** The rank of a value's type in the server's order. Comparison operators only match values of the same rank. */
export function typeRank(value: Value): number {
  return ranks[typeOf(value)] ?? 0;
}

/**
 * The server's total order over all BSON values, also that of sorting and of `_id`.
 * @returns negative, 0 or positive
 */
export function compareValues(a: Value, b: Value, collation?: Collation): number {
  if (typeof a === 'string' && typeof b === 'string') return compareStrings(a, b, collation);
  const type = typeOf(a);
  const rank = ranks[type] ?? 0;
  const otherRank = typeRank(b);
  if (rank !== otherRank) return rank - otherRank;
  switch (type) {
    case ElementType.int32:
    case ElementType.double:
    case ElementType.int64:
    case ElementType.decimal128:
      return compareNumbers(a as NumberValue, b as NumberValue);
    case ElementType.objectId:
      return Buffer.compare((a as ObjectId).id, (b as ObjectId).id);
    case ElementType.string:
    case ElementType.symbol:
      return compareStrings(textOf(a), textOf(b), collation);
    case ElementType.document:
      return compareDocs(docOf(a), docOf(b), collation);
    case ElementType.array:
      return compareArrays(a as Value[], b as Value[], collation);
    case ElementType.boolean:
      return Number(a) - Number(b);
    case ElementType.date:
      return compareOrdered((a as DateTime).ms, (b as DateTime).ms);
    default:
      return compareRareValues(type, a, b, collation);
  }
}

/** Compares documents field by field: first the types' ranks, then the names, then the values. A prefix comes first. */
export function compareDocs(a: Doc, b: Doc, collation?: Collation): number {
  const others = b.entries();
  for (const [name, value] of a) {
    const next = others.next();
    if (next.done === true) return 1;
    const [otherName, other] = next.value;
    const order =
      typeRank(value) - typeRank(other) || compareStrings(name, otherName) || compareValues(value, other, collation);
    if (order !== 0) return order;
  }
  return a.size - b.size;
}

/** True when two values are equal in the server's order; 1 and 1.0 are. */
export function equalValues(a: Value, b: Value, collation?: Collation): boolean {
  return compareValues(a, b, collation) === 0;
}

/** Orders strings by their UTF-8 bytes, or by a collation. */
export function compareStrings(a: string, b: string, collation?: Collation): number {
  if (a === b) return 0;
  if (collation !== undefined) return collation.compare(a, b);
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right)
      return isHalf(left) || isHalf(right) ? Buffer.compare(encodeUtf8(a), encodeUtf8(b)) : left - right;
  }
  return a.length - b.length;
}

/**
 * Surrogates stand for code points above all others, or for bytes that are not UTF-8. Their code units lie below
 * U+E000.
 */
function isHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
}

function compareArrays(a: readonly Value[], b: readonly Value[], collation?: Collation): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const order = compareValues(a[index] ?? null, b[index] ?? null, collation);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

function compareRareValues(type: number, a: Value, b: Value, collation?: Collation): number {
  switch (type) {
    case ElementType.binary:
      return compareBinaries(a as Binary, b as Binary);
    case ElementType.timestamp:
      return compareTimestamps(a as Timestamp, b as Timestamp);
    case ElementType.regex: {
      const left = a as BSONRegExp;
      const right = b as BSONRegExp;
      return compareStrings(left.pattern, right.pattern) || compareStrings(left.options, right.options);
    }
    case ElementType.code:
      return compareStrings((a as Code).code, (b as Code).code);
    case ElementType.codeWithScope: {
      const left = a as Code;
      const right = b as Code;
      return compareStrings(left.code, right.code) || compareDocs(left.scope as Doc, right.scope as Doc, collation);
    }
    case ElementType.dbPointer:
      return comparePointers(a as DBRef, b as DBRef);
    default:
      return 0;
  }
}

/** Orders timestamps as unsigned 64-bit numbers. */
export function compareTimestamps(a: Timestamp, b: Timestamp): number {
  return a.t - b.t || a.i - b.i;
}

function compareBinaries(a: Binary, b: Binary): number {
  return (
    a.position - b.position ||
    a.sub_type - b.sub_type ||
    Buffer.compare(a.buffer.subarray(0, a.position), b.buffer.subarray(0, b.position))
  );
}

function comparePointers(a: DBRef, b: DBRef): number {
  return (
    encodeUtf8(a.collection).length - encodeUtf8(b.collection).length ||
    compareStrings(a.collection, b.collection) ||
    Buffer.compare(a.oid.id, b.oid.id)
  );
}

function compareOrdered(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function textOf(value: Value): string {
  return typeof value === 'string' ? value : (value as { value: string }).value;
}

function docOf(value: Value): Doc {
  return value instanceof RawDocument ? decodeDocument(value.bytes) : (value as Doc);
}
