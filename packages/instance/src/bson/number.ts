import { compareExact, exactDecimal, exactDouble, normalised, type ExactNumber } from './decimal.js';
import { elementType } from './element-type.js';
import { bufferOf, int32At, type RawValue } from './scan.js';

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
