import { Decimal128, Double, Int32, Long } from 'bson';
import { divideNumbers, multiplyNumbers, remainderOfNumbers, subtractNumbers } from '../../bson/arithmetic.js';
import {
  roundDecimal,
  type Rounding,
  wholeDecimalOfDouble,
  wholePartOfDecimal,
} from '../../bson/decimal-arithmetic.js';
import { computedText } from '../../bson/computed-text.js';
import { decimalParts, isNumber, longValue, type NumberValue, toNumber } from '../../bson/exact-number.js';
import { NumberTotal } from '../../bson/number-total.js';
import { LONG_MIN, longOfDecimal } from '../../bson/whole-number.js';
import { typeName } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { unsimulated } from '../../node/unsimulated.js';
import { badValue, located, typeMismatch } from '../../query/query-error.js';
import type { ExpressionContext } from '../variables.js';
import { fixed, type OperatorCompiler, type OperatorTable, ranged, sequential } from '../operator.js';
import { isNullish } from '../truth.js';

/** Sums, products and functions of numbers. Any null or missing argument gives null. */
export const arithmeticOperators: OperatorTable = {
  $add: sequential(add),
  $subtract: fixed(2, subtract),
  $multiply: sequential((values, name) => fold(values, name, new Int32(1), multiplyNumbers)),
  $divide: fixed(2, (values, name) => binary(values, name, divide)),
  $mod: fixed(2, (values, name) => binary(values, name, remainder)),
  $pow: fixed(2, (values, name) => binary(values, name, power)),
  $abs: fixed(1, (values, name) => unary(values, name, magnitude)),
  $ceil: fixed(1, (values, name) => unary(values, name, (value) => rounded(value, 0, 'up'))),
  $floor: fixed(1, (values, name) => unary(values, name, (value) => rounded(value, 0, 'down'))),
  $trunc: rounding('towards zero'),
  $round: rounding('half even'),
  $sqrt: mathFunction(squareRoot),
  $exp: mathFunction(Math.exp),
};

/** A date among numbers makes a date. The first null ends the sum. */
function add(values: Iterable<Value | undefined>, _name: string, { version }: ExpressionContext): Value {
  const total = new NumberTotal();
  let dated = false;
  for (const value of values) {
    if (isNullish(value)) return null;
    if (value instanceof DateTime) {
      if (dated) throw located(16612, 'only one date allowed in an $add expression');
      dated = true;
      total.add(Long.fromBigInt(value.ms));
    } else if (isNumber(value)) total.add(value);
    else {
      const message = `$add only supports numeric or date types, not ${typeName(value)}`;
      throw version?.atLeast(8, 0) === true ? new CommandError(14, 'TypeMismatch', message) : located(16554, message);
    }
  }
  if (!dated) return total.sum();
  const ms = total.rounded();
  if (ms === null) throw new CommandError(15, 'Overflow', 'date overflow in $add');
  return new DateTime(ms);
}

function subtract([a, b]: (Value | undefined)[], name: string): Value {
  if (a instanceof DateTime && b instanceof DateTime) return Long.fromBigInt(a.ms - b.ms);
  if (a instanceof DateTime && isNumber(b)) return earlier(a, asLong(b));
  return binary([a, b], name, subtractNumbers);
}

/** A date so many milliseconds before. @throws CommandError 159; its message has the sum without the overflow */
function earlier({ ms }: DateTime, by: bigint): DateTime {
  if (by === LONG_MIN) throw durationOverflow('Cannot negate the minimum duration');
  const result = BigInt.asIntN(64, ms - by);
  if (result !== ms - by) throw durationOverflow(`Overflow while adding ${-by}ms to ${result}ms`);
  return new DateTime(result);
}

function durationOverflow(message: string): CommandError {
  return new CommandError(159, 'DurationOverflow', message);
}

/** A number as a long, towards zero. @throws CommandError 31109 for a double that fits none */
function asLong(value: NumberValue): bigint {
  if (value._bsontype === 'Decimal128') return longOfDecimal(value);
  if (value._bsontype === 'Long') return longValue(value);
  const whole = Number.isFinite(value.value) ? BigInt(Math.trunc(value.value)) : null;
  if (whole === null || whole !== BigInt.asIntN(64, whole))
    throw located(31109, `Can't coerce out of range value ${computedText(value)} to long`);
  return whole;
}

function divide(a: NumberValue, b: NumberValue): Value {
  if (toNumber(b) === 0) throw badValue("can't $divide by zero");
  return divideNumbers(a, b);
}

/** Whole numbers stay whole as long as they fit; they do to a power that is not negative, and 1 and -1 to any. */
function power(a: NumberValue, b: NumberValue): Value {
  const [base, exponent] = [toNumber(a), toNumber(b)];
  if (base === 0 && exponent < 0) throw located(28764, '$pow cannot take a base of 0 and a negative exponent');
  if (!isWhole(a) || !isWhole(b)) return doubleFunction('$pow', powerOfDoubles, a, b);
  const exact = wholePower(wholeOf(a), wholeOf(b));
  if (exact === undefined || exact !== BigInt.asIntN(64, exact)) return new Double(base ** exponent);
  return wholeLike(exact, a._bsontype === 'Int32' && b._bsontype === 'Int32');
}

/** JavaScript returns NaN where C returns 1. */
function powerOfDoubles(base: number, exponent: number): number {
  return base === 1 || (base === -1 && Math.abs(exponent) === Infinity) ? 1 : base ** exponent;
}

function wholePower(base: bigint, exponent: bigint): bigint | undefined {
  if (base === 1n || base === -1n || base === 0n)
    return exponent === 0n || base === 1n || (base === -1n && exponent % 2n === 0n) ? 1n : base;
  return exponent < 0n || exponent > 63n ? undefined : base ** exponent;
}

function wholeOf(value: NumberValue): bigint {
  return value._bsontype === 'Long' ? longValue(value) : BigInt(toNumber(value));
}

function wholeLike(value: bigint, isInt: boolean): NumberValue {
  return isInt && value === BigInt.asIntN(32, value) ? new Int32(Number(value)) : Long.fromBigInt(value);
}

function magnitude(value: NumberValue): Value {
  if (value._bsontype === 'Double') return new Double(Math.abs(value.value));
  if (value._bsontype === 'Decimal128')
    return value.toString().startsWith('-') ? subtractNumbers(new Int32(0), value) : value;
  const whole = wholeOf(value);
  if (whole !== 0n && whole === BigInt.asIntN(64, -whole)) throw located(28680, "can't take $abs of long long min");
  return wholeLike(whole < 0n ? -whole : whole, value._bsontype === 'Int32');
}

/** @param places after the point, or before it; whole numbers have none after it */
function rounded(value: NumberValue, places: number, how: Rounding): Value {
  if (value._bsontype === 'Decimal128')
    return isInfinite(value) && (how === 'up' || how === 'down')
      ? Decimal128.fromString('NaN')
      : roundDecimal(value, places, how);
  if (value._bsontype === 'Double') {
    const found = Number(roundDecimal(wholeDecimalOfDouble(value.value), places, how).toString());
    return Number.isNaN(found) ? value : new Double(found);
  }
  if (places >= 0) return value;
  const whole = wholePartOfDecimal(decimalParts(roundDecimal(wholeDecimalOf(value), places, how)));
  if (whole !== BigInt.asIntN(64, whole)) throw unsimulated('rounding beyond the longs');
  return wholeLike(whole, value._bsontype === 'Int32');
}

function isWhole(value: NumberValue): boolean {
  return value._bsontype === 'Int32' || value._bsontype === 'Long';
}

function remainder(a: NumberValue, b: NumberValue): Value {
  if (toNumber(b) === 0) throw located(16610, "can't $mod by zero");
  return remainderOfNumbers(a, isWhole(a) && isWhole32(b) ? new Int32(b.value) : b);
}

/** The remainder of a whole number by a double is whole too, where that is a 32-bit integer. */
function isWhole32(value: NumberValue): value is Double {
  return value._bsontype === 'Double' && value.value === (value.value | 0);
}

function isInfinite(value: Decimal128): boolean {
  return decimalParts(value).kind === 'infinity';
}

/** A whole number as a decimal. */
function wholeDecimalOf(value: NumberValue): Decimal128 {
  return Decimal128.fromString(wholeOf(value).toString());
}

function fold(
  values: Iterable<Value | undefined>,
  name: string,
  start: NumberValue,
  combine: (a: NumberValue, b: NumberValue) => NumberValue,
): Value {
  let result = start;
  for (const value of values) {
    if (isNullish(value)) return null;
    result = combine(result, numeric(value, name));
  }
  return result;
}

function binary([a, b]: (Value | undefined)[], name: string, apply: (a: NumberValue, b: NumberValue) => Value): Value {
  if (isNullish(a) || isNullish(b)) return null;
  if (isNumber(a) && isNumber(b)) return apply(a, b);
  throw refusedPair(name, a, b);
}

function unary([value]: (Value | undefined)[], name: string, apply: (value: NumberValue) => Value): Value {
  return isNullish(value) ? null : apply(numeric(value, name));
}

function squareRoot(value: number): number {
  if (value < 0) throw located(28714, "$sqrt's argument must be greater than or equal to 0");
  return Math.sqrt(value);
}

function mathFunction(apply: (value: number) => number): OperatorCompiler {
  return fixed(1, (values, name) => unary(values, name, (value) => doubleFunction(name, apply, value)));
}

const PLACES_MIN = -20;
const PLACES_MAX = 100;

function rounding(how: Rounding): OperatorCompiler {
  return ranged(1, 2, (values, name) => {
    const [value, places = new Int32(0)] = values;
    if (isNullish(value)) return null;
    if (!isNumber(value)) throw located(51081, `${name} only supports numeric types, not ${typeName(value)}`);
    if (isNullish(places) || (values.length > 1 && values[1] === undefined)) return null;
    const count = isNumber(places) ? toNumber(places) : Number.NaN;
    if (!Number.isInteger(count)) throw located(51082, `precision argument to  ${name} must be a integral value`);
    if (count < PLACES_MIN || count > PLACES_MAX)
      throw located(51083, `cannot apply ${name} with precision value ${count} value must be in [-20, 100]`);
    return rounded(value, count, how);
  });
}

/** How servers refuse a pair that is not two numbers. */
function refusedPair(name: string, a: Value | undefined, b: Value | undefined): CommandError {
  const [left, right] = [typeName(a), typeName(b)];
  if (name === '$mod') return located(16611, `$mod only supports numeric types, not ${left} and ${right}`);
  if (name === '$divide') return typeMismatch(`$divide only supports numeric types, not ${left} and ${right}`);
  if (name === '$subtract') return typeMismatch(`can't $subtract ${right} from ${left === 'date' ? 'Date' : left}`);
  if (name === '$pow')
    return isNumber(a)
      ? located(28763, `$pow's exponent must be numeric, not ${right}`)
      : located(28762, `$pow's base must be numeric, not ${left}`);
  return typeMismatch(`${name} only supports numeric types, not ${isNumber(a) ? right : left}`);
}

function numeric(value: Value | undefined, name: string): NumberValue {
  if (isNumber(value)) return value;
  if (unaryOperators.has(name)) throw located(28765, `${name} only supports numeric types, not ${typeName(value)}`);
  throw typeMismatch(`${name} only supports numeric types, not ${typeName(value)}`);
}

const unaryOperators: ReadonlySet<string> = new Set(['$abs', '$ceil', '$floor', '$sqrt', '$exp', '$ln', '$log10']);

/**
 * A function of numbers as doubles.
 * @throws CommandError as not simulated for decimals, which servers compute with 34 digits
 */
function doubleFunction(name: string, apply: (...values: number[]) => number, ...values: NumberValue[]): Double {
  if (values.some((value) => value._bsontype === 'Decimal128')) throw unsimulated(`${name} of a decimal`);
  return new Double(apply(...values.map(toNumber)));
}
