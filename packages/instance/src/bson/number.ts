import { compareExact, exactDecimal, exactDouble, normalised, type ExactNumber } from './decimal.js';
import { elementType } from './element-type.js';
import { bufferOf, int32At, type RawValue } from './scan.js';

/** `numberText` writes integers up to this many digits in full, which covers all 64-bit integers. */
const plainDigitsMax = 19;

type Extreme = 'NaN' | 'Infinity' | '-Infinity';
const extremeRank = { NaN: -2, '-Infinity': -1, Infinity: 1 } as const;

function doubleOf(value: RawValue): number {
  return bufferOf(value.bytes).readDoubleLE(0);
}

function longOf(value: RawValue): bigint {
  return bufferOf(value.bytes).readBigInt64LE(0);
}

/** The value of any number in decimal. */
function exactNumber(value: RawValue): ExactNumber | Extreme {
  switch (value.type) {
    case elementType.int32:
      return normalised(BigInt(int32At(value.bytes, 0)), 0);
    case elementType.long:
      return normalised(longOf(value), 0);
    case elementType.decimal:
      return exactDecimal(bufferOf(value.bytes));
    default: {
      const double = doubleOf(value);
      if (Number.isNaN(double)) return 'NaN';
      if (!Number.isFinite(double)) return double > 0 ? 'Infinity' : '-Infinity';
      return exactDouble(double);
    }
  }
}

/** A number of any type but decimal; 64-bit integers become a bigint, so that nothing is lost. */
function binaryNumber(value: RawValue): number | bigint | null {
  switch (value.type) {
    case elementType.int32:
      return int32At(value.bytes, 0);
    case elementType.double:
      return doubleOf(value);
    case elementType.long:
      return longOf(value);
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
export function compareNumbers(a: RawValue, b: RawValue): number {
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
  if (value.type === elementType.int32) return int32At(value.bytes, 0).toString();
  if (value.type === elementType.long) return longOf(value).toString();
  if (value.type === elementType.double) {
    const double = doubleOf(value);
    if (Number.isSafeInteger(double)) return (double === 0 ? 0 : double).toString();
  }
  const exact = exactNumber(value);
  return typeof exact === 'string' ? exact : exactText(exact);
}

/**
 * A number as the 64-bit integer that the server hashes: truncated, NaN as 0, beyond 64 bits the nearest bound. 2^63 as
 * a double is the lowest integer, as x86 converts it (seen on 5.0.7; server source: safeNumberLongForHash). Decimals
 * are rounded half to even instead.
 */
export function integerForHash(value: RawValue): bigint {
  if (value.type === elementType.int32) return BigInt(int32At(value.bytes, 0));
  if (value.type === elementType.long) return longOf(value);
  if (value.type === elementType.double) {
    const double = doubleOf(value);
    if (Number.isNaN(double)) return 0n;
    if (double === twoTo63) return longMin;
    return boundedLong(Number.isFinite(double) ? BigInt(Math.trunc(double)) : double > 0 ? longMax : longMin);
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
