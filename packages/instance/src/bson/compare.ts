import { canonical, canonicalType } from './element-type.js';
import { compareNumbers } from './number.js';
import { bufferOf, cstringEnd, elementsOf, int32At, RawValue, rawValue } from './scan.js';
import { encodeUtf8 } from './utf8.js';

/**
 * The server's total order of BSON values in the simple collation, as in an index:
 * numbers of all types by value, symbols like strings, documents field by field (type, name, value).
 * @returns negative, 0 or positive
 */
export function compareRaw(a: RawValue, b: RawValue): number {
  const place = canonicalType(a.type);
  const types = place - canonicalType(b.type);
  return types === 0 ? compareSamePlace(a, b, place) : types;
}

function compareSamePlace(a: RawValue, b: RawValue, place: number): number {
  switch (place) {
    case canonical.number:
      return compareNumbers(a, b);
    case canonical.string:
    case canonical.code:
      return compareTexts(a.bytes, b.bytes);
    case canonical.document:
      return compareFields(a.bytes, b.bytes, true);
    case canonical.array:
      return compareFields(a.bytes, b.bytes, false);
    case canonical.binary:
    case canonical.dbPointer:
      return compareSizedBytes(a.bytes, b.bytes);
    case canonical.date:
      return compareBigints(bufferOf(a.bytes).readBigInt64LE(0), bufferOf(b.bytes).readBigInt64LE(0));
    case canonical.timestamp:
      return compareBigints(bufferOf(a.bytes).readBigUInt64LE(0), bufferOf(b.bytes).readBigUInt64LE(0));
    case canonical.regex:
      return compareRegexes(a.bytes, b.bytes);
    case canonical.codeWithScope:
      return compareScopedCode(a.bytes, b.bytes);
    default:
      return Buffer.compare(a.bytes, b.bytes);
  }
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Strings begin with 4 bytes of length and end with a zero byte. */
function compareTexts(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a.subarray(4, a.length - 1), b.subarray(4, b.length - 1));
}

/** Shorter is less, then byte by byte: a binary's subtype comes before its content. */
function compareSizedBytes(a: Uint8Array, b: Uint8Array): number {
  return a.length - b.length || Buffer.compare(a, b);
}

function compareRegexes(a: Uint8Array, b: Uint8Array): number {
  const patternA = cstringEnd(a, 0);
  const patternB = cstringEnd(b, 0);
  return (
    Buffer.compare(a.subarray(0, patternA), b.subarray(0, patternB)) ||
    Buffer.compare(a.subarray(patternA), b.subarray(patternB))
  );
}

function compareScopedCode(a: Uint8Array, b: Uint8Array): number {
  const scopeA = 8 + int32At(a, 4);
  const scopeB = 8 + int32At(b, 4);
  return (
    compareTexts(a.subarray(4, scopeA), b.subarray(4, scopeB)) ||
    compareFields(a.subarray(scopeA), b.subarray(scopeB), true)
  );
}

function compareFields(a: Uint8Array, b: Uint8Array, withNames: boolean): number {
  const fieldsA = elementsOf(a);
  const fieldsB = elementsOf(b);
  for (;;) {
    const left = fieldsA.next();
    const right = fieldsB.next();
    if (left.done === true || right.done === true) return Number(right.done === true) - Number(left.done === true);
    const types = canonicalType(left.value.type) - canonicalType(right.value.type);
    if (types !== 0) return types;
    const names = withNames ? compareNames(left.value.name, right.value.name) : 0;
    if (names !== 0) return names;
    const values = compareRaw(rawValue(a, left.value), rawValue(b, right.value));
    if (values !== 0) return values;
  }
}

/** Names compare as bytes; JavaScript's own order differs beyond the basic plane. */
function compareNames(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(encodeUtf8(a), encodeUtf8(b));
}
