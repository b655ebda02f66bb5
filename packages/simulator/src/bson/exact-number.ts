import type { Decimal128, Double, Int32, Long } from 'bson';

/** Any of BSON's four number types. */
export type NumberValue = Int32 | Double | Long | Decimal128;

/** A magnitude as a fraction of integers; the denominator is positive. */
export interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/** A Decimal128 taken apart: `coefficient × 10^exponent`. */
export interface DecimalParts {
  kind: 'finite' | 'infinity' | 'nan';
  negative: boolean;
  coefficient: bigint;
  exponent: number;
}

export const DECIMAL_EXPONENT_BIAS = 6176;
const COEFFICIENT_MAX = 10n ** 34n - 1n;
const DOUBLE_FRACTION_BITS = 52n;
const DOUBLE_EXPONENT_BIAS = 1075;

/**
 * Takes a Decimal128 apart as IEEE 754-2008 with binary integer coefficients says; a coefficient out of range is zero.
 */
export function decimalParts(decimal: Decimal128): DecimalParts {
  const view = new DataView(decimal.bytes.buffer, decimal.bytes.byteOffset, 16);
  const high = view.getBigUint64(8, true);
  const negative = high >> 63n === 1n;
  const special = (high >> 58n) & 0x1fn;
  if (special === 0x1fn) return { kind: 'nan', negative, coefficient: 0n, exponent: 0 };
  if (special === 0x1en) return { kind: 'infinity', negative, coefficient: 0n, exponent: 0 };
  if (((high >> 61n) & 3n) === 3n) {
    return {
      kind: 'finite',
      negative,
      coefficient: 0n,
      exponent: Number((high >> 47n) & 0x3fffn) - DECIMAL_EXPONENT_BIAS,
    };
  }
  const coefficient = ((high & 0x1ffffffffffffn) << 64n) | view.getBigUint64(0, true);
  const exponent = Number((high >> 49n) & 0x3fffn) - DECIMAL_EXPONENT_BIAS;
  return { kind: 'finite', negative, coefficient: coefficient > COEFFICIENT_MAX ? 0n : coefficient, exponent };
}

/** The magnitude of a finite decimal. */
export function decimalFraction(parts: DecimalParts): Fraction {
  return parts.exponent >= 0
    ? { numerator: parts.coefficient * 10n ** BigInt(parts.exponent), denominator: 1n }
    : { numerator: parts.coefficient, denominator: 10n ** BigInt(-parts.exponent) };
}

/** The exact magnitude of a finite double. */
export function doubleFraction(value: number): Fraction {
  const bits = doubleBits(Math.abs(value));
  const biased = Number(bits >> DOUBLE_FRACTION_BITS);
  const fraction = bits & ((1n << DOUBLE_FRACTION_BITS) - 1n);
  const mantissa = biased === 0 ? fraction : fraction | (1n << DOUBLE_FRACTION_BITS);
  const exponent = Math.max(biased, 1) - DOUBLE_EXPONENT_BIAS;
  return exponent >= 0
    ? { numerator: mantissa << BigInt(exponent), denominator: 1n }
    : { numerator: mantissa, denominator: 1n << BigInt(-exponent) };
}

/** The 64 bits of a double as an unsigned integer. */
export function doubleBits(value: number): bigint {
  doubleView.setFloat64(0, value);
  return doubleView.getBigUint64(0);
}

const doubleView = new DataView(new ArrayBuffer(8));

/** A signed long as a bigint. bson's own conversion goes through text. */
export function longValue(value: Long): bigint {
  return (BigInt(value.high) << 32n) | BigInt(value.low >>> 0);
}

/** -1, 0 or 1 by magnitude. */
export function compareFractions(a: Fraction, b: Fraction): number {
  return compareBigInts(a.numerator * b.denominator, b.numerator * a.denominator);
}

/**
 * Compares two numbers of any type by their exact values, as the server does: NaN is less than every number and equal
 * to NaN.
 * @returns -1, 0 or 1
 */
export function compareNumbers(a: NumberValue, b: NumberValue): number {
  if (a._bsontype === 'Long' && b._bsontype === 'Long')
    return Math.sign(a.high - b.high || (a.low >>> 0) - (b.low >>> 0));
  const left = exactDouble(a);
  const right = exactDouble(b);
  if (left !== undefined && right !== undefined) return compareDoubles(left, right);
  if (Number.isNaN(left) || Number.isNaN(right)) return compareDoubles(left ?? 0, right ?? 0);
  return compareExactly(a, b);
}

/** The value as a JavaScript number if that loses nothing. */
function exactDouble(value: NumberValue): number | undefined {
  switch (value._bsontype) {
    case 'Int32':
    case 'Double':
      return value.value;
    case 'Long': {
      const high = value.high;
      return high < 0x200000 && high >= -0x200000 ? high * 0x1_0000_0000 + (value.low >>> 0) : undefined;
    }
    case 'Decimal128': {
      const parts = decimalParts(value);
      if (parts.kind === 'nan') return Number.NaN;
      return parts.kind === 'infinity' ? (parts.negative ? -Infinity : Infinity) : undefined;
    }
  }
}

function compareDoubles(a: number, b: number): number {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a === b) return 0;
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : -1;
  return 1;
}

function compareBigInts(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareExactly(a: NumberValue, b: NumberValue): number {
  const left = signedFraction(a);
  const right = signedFraction(b);
  if (typeof left === 'number' || typeof right === 'number') {
    return compareDoubles(typeof left === 'number' ? left : 0, typeof right === 'number' ? right : 0);
  }
  return compareFractions(left, right);
}

/** The value as a fraction with a signed numerator, or an infinity as it is. */
function signedFraction(value: NumberValue): Fraction | number {
  switch (value._bsontype) {
    case 'Long':
      return { numerator: longValue(value), denominator: 1n };
    case 'Decimal128': {
      const parts = decimalParts(value);
      if (parts.kind === 'infinity') return parts.negative ? -Infinity : Infinity;
      return withSign(decimalFraction(parts), parts.negative);
    }
    default: {
      const number = value.value;
      return Number.isFinite(number) ? withSign(doubleFraction(number), number < 0) : number;
    }
  }
}

function withSign(fraction: Fraction, negative: boolean): Fraction {
  return negative ? { numerator: -fraction.numerator, denominator: fraction.denominator } : fraction;
}

/** True for a value of any number type. */
export function isNumber(value: unknown): value is NumberValue {
  if (typeof value !== 'object' || value === null || !('_bsontype' in value)) return false;
  const type = value._bsontype;
  return type === 'Int32' || type === 'Double' || type === 'Long' || type === 'Decimal128';
}

/** The nearest JavaScript number. */
export function toNumber(value: NumberValue): number {
  switch (value._bsontype) {
    case 'Int32':
    case 'Double':
      return value.value;
    case 'Long':
      return value.toNumber();
    case 'Decimal128':
      return Number(value.toString());
  }
}
