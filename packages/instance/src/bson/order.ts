import { canonical, canonicalType, elementType } from './element-type.js';
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

/** `numberText` writes integers up to this many digits in full, which covers all 64-bit integers. */
const plainDigitsMax = 19;

type Extreme = 'NaN' | 'Infinity' | '-Infinity';
const extremeRank = { NaN: -2, '-Infinity': -1, Infinity: 1 } as const;

/** The value of any number in decimal. */
function exactNumber(value: RawValue): ExactNumber | Extreme {
  const binary = binaryNumber(value);
  if (binary === null) return exactDecimal(bufferOf(value.bytes));
  if (typeof binary === 'bigint') return normalised(binary, 0);
  return Number.isFinite(binary) ? exactDouble(binary) : (String(binary) as Extreme);
}

/** A number of any type but decimal; 64-bit integers become a bigint, so that nothing is lost. */
function binaryNumber(value: RawValue): number | bigint | null {
  switch (value.type) {
    case elementType.int32:
      return int32At(value.bytes, 0);
    case elementType.double:
      return bufferOf(value.bytes).readDoubleLE(0);
    case elementType.long:
      return bufferOf(value.bytes).readBigInt64LE(0);
    default:
      return null;
  }
}

/** JavaScript compares numbers with bigints by their exact value. */
function compareBinary(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1;
  if (a > b) return 1;
  return Number(Number.isNaN(b)) - Number(Number.isNaN(a));
}

/**
 * The server's order of numbers: by value over all types, NaN below everything else and equal to itself, -0 equal to 0.
 */
function compareNumbers(a: RawValue, b: RawValue): number {
  const binaryA = binaryNumber(a);
  const binaryB = binaryNumber(b);
  if (binaryA !== null && binaryB !== null) return compareBinary(binaryA, binaryB);
  const exactA = exactNumber(a);
  const exactB = exactNumber(b);
  if (typeof exactA === 'string' || typeof exactB === 'string') {
    const rankOf = (exact: ExactNumber | Extreme) => (typeof exact === 'string' ? extremeRank[exact] : 0);
    return rankOf(exactA) - rankOf(exactB);
  }
  return compareExact(exactA, exactB);
}

function exactText(exact: ExactNumber): string {
  const digits = exact.digits.toString();
  const length = digits.length - (exact.digits < 0n ? 1 : 0);
  if (exact.exponent >= 0 && length + exact.exponent <= plainDigitsMax) return digits + '0'.repeat(exact.exponent);
  return `${digits}e${exact.exponent}`;
}

/** A text that two numbers have in common exactly if `compareNumbers` finds them equal. */
export function numberText(value: RawValue): string {
  const binary = binaryNumber(value);
  // The text of -0 is that of 0.
  if (typeof binary === 'bigint' || Number.isSafeInteger(binary)) return String(binary);
  const exact = exactNumber(value);
  return typeof exact === 'string' ? exact : exactText(exact);
}

/**
 * A number as the 64-bit integer that the server hashes: truncated, NaN as 0, beyond 64 bits the nearest bound. 2^63 as
 * a double is the lowest integer, as x86 converts it (seen on 5.0.7; server source: safeNumberLongForHash). Decimals
 * are rounded half to even instead.
 */
export function integerForHash(value: RawValue): bigint {
  const binary = binaryNumber(value);
  if (typeof binary === 'bigint') return binary;
  if (binary !== null) {
    if (Number.isNaN(binary)) return 0n;
    if (binary === twoTo63) return longMin;
    return boundedLong(Number.isFinite(binary) ? BigInt(Math.trunc(binary)) : binary > 0 ? longMax : longMin);
  }
  const exact = exactDecimal(bufferOf(value.bytes));
  if (exact === 'NaN') return 0n;
  if (typeof exact === 'string') return exact === 'Infinity' ? longMax : longMin;
  return boundedLong(roundedInteger(exact));
}

const twoTo63 = 2 ** 63;
const longMax = 2n ** 63n - 1n;
const longMin = -(2n ** 63n);

function boundedLong(value: bigint): bigint {
  return value > longMax ? longMax : value < longMin ? longMin : value;
}

function roundedInteger(exact: ExactNumber): bigint {
  // Beyond these powers the result is out of range or 0, whatever the digits are.
  if (exact.exponent > plainDigitsMax) return exact.digits < 0n ? longMin : longMax;
  if (exact.exponent >= 0) return exact.digits * 10n ** BigInt(exact.exponent);
  const unit = 10n ** BigInt(-exact.exponent);
  const magnitude = exact.digits < 0n ? -exact.digits : exact.digits;
  const quotient = magnitude / unit;
  const twice = (magnitude % unit) * 2n;
  const rounded = twice > unit || (twice === unit && quotient % 2n === 1n) ? quotient + 1n : quotient;
  return exact.digits < 0n ? -rounded : rounded;
}

/** A finite number as `digits` × 10^`exponent`; `digits` carries the sign and has no trailing zeros unless it is 0. */
interface ExactNumber {
  digits: bigint;
  exponent: number;
}

/** Coefficients of a Decimal128 have at most 34 digits. */
const digitsLimit = 10n ** 34n;
/** Bias of the decimal exponent (IEEE 754-2008, 128 bits). */
const decimalBias = 6176;

/** Drops trailing zeros of the digits into the exponent. */
function normalised(digits: bigint, exponent: number): ExactNumber {
  if (digits === 0n) return { digits: 0n, exponent: 0 };
  let rest = digits;
  let power = exponent;
  while (rest % 10n === 0n) {
    rest /= 10n;
    power += 1;
  }
  return { digits: rest, exponent: power };
}

/** A finite double in decimal, with all of its digits: servers compare it exactly with decimals (tried on 5.0.7). */
function exactDouble(value: number): ExactNumber {
  if (value === 0) return { digits: 0n, exponent: 0 };
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = biased === 0 ? fraction : fraction | 0x10000000000000n;
  const power = (biased === 0 ? 1 : biased) - 1075;
  const signed = value < 0 ? -mantissa : mantissa;
  return power >= 0 ? normalised(signed << BigInt(power), 0) : normalised(signed * 5n ** BigInt(-power), power);
}

/** Reads a Decimal128's 16 bytes: a number, or the name of a value that is not finite. */
function exactDecimal(bytes: Buffer): ExactNumber | 'NaN' | 'Infinity' | '-Infinity' {
  const high = bytes.readBigUInt64LE(8);
  const low = bytes.readBigUInt64LE(0);
  const negative = high >> 63n === 1n;
  const combination = Number((high >> 58n) & 0x1fn);
  if (combination === 0x1f) return 'NaN';
  if (combination === 0x1e) return negative ? '-Infinity' : 'Infinity';
  // The other layout (combination 11xxx) holds only coefficients beyond 34 digits, which count as 0.
  if (combination >= 0x18) return { digits: 0n, exponent: 0 };
  const exponent = Number((high >> 49n) & 0x3fffn) - decimalBias;
  const coefficient = ((high & 0x1ffffffffffffn) << 64n) | low;
  if (coefficient >= digitsLimit) return { digits: 0n, exponent: 0 };
  return normalised(negative ? -coefficient : coefficient, exponent);
}

/** Order of two exact numbers: negative, 0 or positive. */
function compareExact(a: ExactNumber, b: ExactNumber): number {
  const signA = a.digits < 0n ? -1 : a.digits > 0n ? 1 : 0;
  const signB = b.digits < 0n ? -1 : b.digits > 0n ? 1 : 0;
  if (signA !== signB || signA === 0) return signA - signB;
  const magnitude = digitCount(a.digits) + a.exponent - (digitCount(b.digits) + b.exponent);
  if (magnitude !== 0) return magnitude * signA;
  const shift = a.exponent - b.exponent;
  const left = shift > 0 ? a.digits * 10n ** BigInt(shift) : a.digits;
  const right = shift < 0 ? b.digits * 10n ** BigInt(-shift) : b.digits;
  return left < right ? -1 : left > right ? 1 : 0;
}

function digitCount(value: bigint): number {
  return (value < 0n ? -value : value).toString().length;
}
