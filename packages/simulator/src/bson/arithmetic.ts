import { Decimal128, Double, Int32, Long } from 'bson';
import { DECIMAL_DIGITS, decimalDigits } from './decimal-rounding.js';
import { decimalFraction, decimalParts, doubleFraction, longValue, type NumberValue, toNumber } from './exact-number.js';

const INT32_MIN = -(2n ** 31n);
const INT32_MAX = 2n ** 31n - 1n;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;
/** Digits a decimal keeps of a double. */
const DOUBLE_DIGITS = 15;

/** Adds as the server does: the wider type wins, ints overflow into longs, longs into doubles. */
export function addNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(a, b, (x, y) => x + y, (x, y) => x + y, (x, y) => addDecimals(x, y));
}

/** Subtracts, see `addNumbers`. */
export function subtractNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(a, b, (x, y) => x - y, (x, y) => x - y, (x, y) => addDecimals(x, negated(y)));
}

/** Multiplies, see `addNumbers`. */
export function multiplyNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(a, b, (x, y) => x * y, (x, y) => x * y, multiplyDecimals);
}

/** Divides; the result is a double, or a decimal when one of them is. */
export function divideNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return doubleOrDecimal(toNumber(a) / toNumber(b), a, b);
}

/** The remainder with the sign of the dividend. */
export function remainderOfNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(a, b, (x, y) => x % y, (x, y) => x % y, (x, y) => decimalOf(toNumber(x) % toNumber(y)));
}

/** Rounds a double or decimal; whole number types stay as they are. */
export function roundNumber(value: NumberValue, round: (value: number) => number): NumberValue {
  if (value._bsontype === 'Double') return new Double(round(value.value));
  if (value._bsontype === 'Decimal128') return decimalOf(round(toNumber(value)));
  return round(toNumber(value)) === toNumber(value) ? value : integer(BigInt(round(toNumber(value))), value._bsontype === 'Int32');
}

/** A computed number as a double, or as a decimal when one of its sources is one. */
export function doubleOrDecimal(result: number, ...sources: NumberValue[]): NumberValue {
  return sources.some((source) => source._bsontype === 'Decimal128') ? decimalOf(result) : new Double(result);
}

/** Combines the bits of two whole numbers, as `$bit` does. */
export function combineBits(a: NumberValue, b: NumberValue, apply: (a: bigint, b: bigint) => bigint): NumberValue {
  return integer(apply(whole(a), whole(b)), a._bsontype === 'Int32' && b._bsontype === 'Int32');
}

function combine(
  a: NumberValue,
  b: NumberValue,
  whole64: (a: bigint, b: bigint) => bigint,
  double: (a: number, b: number) => number,
  decimal: (a: Decimal128, b: Decimal128) => Decimal128,
): NumberValue {
  if (a._bsontype === 'Decimal128' || b._bsontype === 'Decimal128') return decimal(toDecimal(a), toDecimal(b));
  if (a._bsontype === 'Double' || b._bsontype === 'Double') return new Double(double(toNumber(a), toNumber(b)));
  return integer(whole64(whole(a), whole(b)), a._bsontype === 'Int32' && b._bsontype === 'Int32');
}

function whole(value: NumberValue): bigint {
  return value._bsontype === 'Long' ? longValue(value) : BigInt(toNumber(value));
}

function integer(value: bigint, fits32: boolean): NumberValue {
  if (fits32 && value >= INT32_MIN && value <= INT32_MAX) return new Int32(Number(value));
  return value >= INT64_MIN && value <= INT64_MAX ? Long.fromBigInt(value) : new Double(Number(value));
}

/** A number as a decimal; a double keeps 15 digits. */
export function toDecimal(value: NumberValue): Decimal128 {
  if (value._bsontype === 'Decimal128') return value;
  return value._bsontype === 'Double' ? decimalOf(value.value) : Decimal128.fromString(whole(value).toString());
}

function decimalOf(value: number): Decimal128 {
  if (!Number.isFinite(value)) return Decimal128.fromString(Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity');
  if (Number.isInteger(value) && Math.abs(value) < 2 ** 53) return Decimal128.fromString(Object.is(value, -0) ? '-0' : BigInt(value).toString());
  const { coefficient, exponent } = decimalDigits(doubleFraction(value), DOUBLE_DIGITS, false);
  return Decimal128.fromString(`${value < 0 ? '-' : ''}${coefficient}E${exponent}`);
}

function addDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  const left = decimalParts(a);
  const right = decimalParts(b);
  if (left.kind !== 'finite' || right.kind !== 'finite') return decimalOf(toNumber(a) + toNumber(b));
  const exponent = Math.min(left.exponent, right.exponent);
  const scaled = (parts: typeof left): bigint => (parts.negative ? -1n : 1n) * parts.coefficient * 10n ** BigInt(parts.exponent - exponent);
  const sum = scaled(left) + scaled(right);
  const negative = sum === 0n ? left.negative && right.negative : sum < 0n;
  return rounded(sum < 0n ? -sum : sum, exponent, negative);
}

function multiplyDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  const left = decimalParts(a);
  const right = decimalParts(b);
  if (left.kind !== 'finite' || right.kind !== 'finite') return decimalOf(toNumber(a) * toNumber(b));
  return rounded(left.coefficient * right.coefficient, left.exponent + right.exponent, left.negative !== right.negative);
}

/** @param negative the sign, which a zero has too */
function rounded(magnitude: bigint, exponent: number, negative: boolean): Decimal128 {
  if (magnitude < 10n ** BigInt(DECIMAL_DIGITS)) return Decimal128.fromString(`${negative ? '-' : ''}${magnitude}E${exponent}`);
  const fraction = decimalFraction({ kind: 'finite', negative: false, coefficient: magnitude, exponent });
  const digits = decimalDigits(fraction, DECIMAL_DIGITS, false);
  return Decimal128.fromString(`${negative ? '-' : ''}${digits.coefficient}E${digits.exponent}`);
}

function negated(value: Decimal128): Decimal128 {
  const text = value.toString();
  return Decimal128.fromString(text.startsWith('-') ? text.slice(1) : text === 'NaN' ? text : `-${text}`);
}
