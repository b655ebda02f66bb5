import { Decimal128, Double, Int32, Long } from 'bson';
import {
  addDecimals,
  decimalOfDouble,
  divideDecimals,
  multiplyDecimals,
  remainderOfDecimals,
} from './decimal-arithmetic.js';
import { LONG_MIN } from './whole-number.js';
import { longValue, type NumberValue, toNumber } from './exact-number.js';

const INT32_MIN = -(2n ** 31n);
const INT32_MAX = 2n ** 31n - 1n;
const INT64_MAX = 2n ** 63n - 1n;

/** Adds as the server does: the wider type wins, ints overflow into longs, longs into doubles. */
export function addNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(
    a,
    b,
    (x, y) => x + y,
    (x, y) => x + y,
    addDecimals,
  );
}

/** Subtracts, see `addNumbers`. */
export function subtractNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(
    a,
    b,
    (x, y) => x - y,
    (x, y) => x - y,
    (x, y) => addDecimals(x, negated(y)),
  );
}

/** Multiplies, see `addNumbers`. */
export function multiplyNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(
    a,
    b,
    (x, y) => x * y,
    (x, y) => x * y,
    multiplyDecimals,
  );
}

/** Divides by a number other than zero. The result is a double, or a decimal when one of them is. */
export function divideNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return isDecimal(a) || isDecimal(b)
    ? divideDecimals(toDecimal(a), toDecimal(b))
    : new Double(toNumber(a) / toNumber(b));
}

/** The remainder with the sign of the dividend. */
export function remainderOfNumbers(a: NumberValue, b: NumberValue): NumberValue {
  return combine(
    a,
    b,
    (x, y) => x % y,
    (x, y) => x % y,
    remainderOfDecimals,
  );
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
  if (isDecimal(a) || isDecimal(b)) return decimal(toDecimal(a), toDecimal(b));
  if (a._bsontype === 'Double' || b._bsontype === 'Double') return new Double(double(toNumber(a), toNumber(b)));
  return integer(whole64(whole(a), whole(b)), a._bsontype === 'Int32' && b._bsontype === 'Int32');
}

function whole(value: NumberValue): bigint {
  return value._bsontype === 'Long' ? longValue(value) : BigInt(toNumber(value));
}

function integer(value: bigint, fits32: boolean): NumberValue {
  if (fits32 && value >= INT32_MIN && value <= INT32_MAX) return new Int32(Number(value));
  return value >= LONG_MIN && value <= INT64_MAX ? Long.fromBigInt(value) : new Double(Number(value));
}

/** A number as a decimal. A double keeps 15 digits. */
export function toDecimal(value: NumberValue): Decimal128 {
  if (value._bsontype === 'Decimal128') return value;
  return value._bsontype === 'Double' ? decimalOfDouble(value.value) : Decimal128.fromString(whole(value).toString());
}

function isDecimal(value: NumberValue): value is Decimal128 {
  return value._bsontype === 'Decimal128';
}

function negated(value: Decimal128): Decimal128 {
  const text = value.toString();
  return Decimal128.fromString(text.startsWith('-') ? text.slice(1) : text === 'NaN' ? text : `-${text}`);
}
