import { Double, Int32, Long } from 'bson';
import { isNumber, type NumberValue, toNumber } from '../../bson/exact-number.js';
import { addNumbers, divideNumbers, doubleOrDecimal, multiplyNumbers, remainderOfNumbers, roundNumber, subtractNumbers } from '../../bson/arithmetic.js';
import { typeName } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import type { CommandError } from '../../node/command.js';
import { located, typeMismatch } from '../../query/query-error.js';
import { fixed, type OperatorCompiler, type OperatorTable, ranged, variadic } from '../operator.js';
import { isNullish } from '../truth.js';

/** Sums, products and functions of numbers. Any null or missing argument gives null. */
export const arithmeticOperators: OperatorTable = {
  $add: variadic(add),
  $subtract: fixed(2, subtract),
  $multiply: variadic((values, name) => fold(values, name, new Int32(1), multiplyNumbers)),
  $divide: fixed(2, (values, name) => binary(values, name, divide)),
  $mod: fixed(2, (values, name) => binary(values, name, remainder)),
  $pow: fixed(2, (values, name) => binary(values, name, power)),
  $rand: fixed(0, () => new Double(Math.random())),
  $log: fixed(2, (values, name) => binary(values, name, (a, b) => doubleOrDecimal(Math.log(toNumber(a)) / Math.log(toNumber(b)), a, b))),
  $abs: fixed(1, (values, name) => unary(values, name, (value) => (toNumber(value) < 0 ? subtractNumbers(new Int32(0), value) : value))),
  $ceil: fixed(1, (values, name) => unary(values, name, (value) => roundNumber(value, Math.ceil))),
  $floor: fixed(1, (values, name) => unary(values, name, (value) => roundNumber(value, Math.floor))),
  $trunc: rounding(Math.trunc),
  $round: rounding(roundHalfEven),
  $sqrt: mathFunction(Math.sqrt),
  $exp: mathFunction(Math.exp),
  $ln: mathFunction(Math.log),
  $log10: mathFunction(Math.log10),
};

/** A date among numbers makes a date. The first null ends the sum. */
function add(values: (Value | undefined)[]): Value {
  let [sum, date]: [NumberValue, DateTime | undefined] = [new Int32(0), undefined];
  for (const value of values) {
    if (isNullish(value)) return null;
    if (value instanceof DateTime) {
      if (date !== undefined) throw located(16612, 'only one date allowed in an $add expression');
      date = value;
    } else if (isNumber(value)) sum = addNumbers(sum, value);
    else throw located(16554, `$add only supports numeric or date types, not ${typeName(value)}`);
  }
  return date === undefined ? sum : new DateTime(date.ms + BigInt(Math.trunc(toNumber(sum))));
}

function subtract([a, b]: (Value | undefined)[], name: string): Value {
  if (a instanceof DateTime && b instanceof DateTime) return Long.fromBigInt(a.ms - b.ms);
  if (a instanceof DateTime && isNumber(b)) return new DateTime(a.ms - BigInt(Math.round(toNumber(b))));
  return binary([a, b], name, subtractNumbers);
}


function divide(a: NumberValue, b: NumberValue): Value {
  if (toNumber(b) === 0) throw located(2, "can't $divide by zero");
  return divideNumbers(a, b);
}

/** Whole numbers to a power that is not negative stay whole as long as they fit. */
function power(a: NumberValue, b: NumberValue): Value {
  const result = toNumber(a) ** toNumber(b);
  if (toNumber(a) === 0 && toNumber(b) < 0) throw located(28764, '$pow cannot take a base of 0 and a negative exponent');
  const whole = isWhole(a) && isWhole(b) && toNumber(b) >= 0;
  if (!whole) return doubleOrDecimal(result, a, b);
  const exact = BigInt(a.toString()) ** BigInt(b.toString());
  if (exact !== BigInt.asIntN(64, exact)) return new Double(result);
  const fits = exact === BigInt.asIntN(32, exact) && a._bsontype === 'Int32' && b._bsontype === 'Int32';
  return fits ? new Int32(Number(exact)) : Long.fromBigInt(exact);
}

function isWhole(value: NumberValue): boolean {
  return value._bsontype === 'Int32' || value._bsontype === 'Long';
}

function remainder(a: NumberValue, b: NumberValue): Value {
  if (toNumber(b) === 0) throw located(16610, "can't $mod by zero");
  return remainderOfNumbers(a, b);
}

function fold(values: (Value | undefined)[], name: string, start: NumberValue, combine: (a: NumberValue, b: NumberValue) => NumberValue): Value {
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

function mathFunction(apply: (value: number) => number): OperatorCompiler {
  return fixed(1, (values, name) => unary(values, name, (value) => doubleOrDecimal(apply(toNumber(value)), value)));
}

function rounding(round: (value: number) => number): OperatorCompiler {
  return ranged(1, 2, ([value, place], name) => {
    const digits = isNumber(place) ? toNumber(place) : 0;
    return unary([value], name, (number) => roundNumber(number, (plain) => round(plain * 10 ** digits) / 10 ** digits));
  });
}

function roundHalfEven(value: number): number {
  const rounded = Math.round(value);
  return Math.abs(value % 1) === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

/** How servers refuse a pair that is no two numbers. */
function refusedPair(name: string, a: Value | undefined, b: Value | undefined): CommandError {
  const [left, right] = [typeName(a), typeName(b)];
  if (name === '$mod') return located(16611, `$mod only supports numeric types, not ${left} and ${right}`);
  if (name === '$divide') return typeMismatch(`$divide only supports numeric types, not ${left} and ${right}`);
  if (name === '$subtract') return typeMismatch(`can't $subtract ${right} from ${left}`);
  if (name === '$pow') return isNumber(a) ? located(28763, `$pow's exponent must be numeric, not ${right}`) : located(28762, `$pow's base must be numeric, not ${left}`);
  return typeMismatch(`${name} only supports numeric types, not ${isNumber(a) ? right : left}`);
}

function numeric(value: Value | undefined, name: string): NumberValue {
  if (isNumber(value)) return value;
  if (unaryOperators.has(name)) throw located(28765, `${name} only supports numeric types, not ${typeName(value)}`);
  throw typeMismatch(`${name} only supports numeric types, not ${typeName(value)}`);
}

const unaryOperators: ReadonlySet<string> = new Set(['$abs', '$ceil', '$floor', '$sqrt', '$exp', '$ln', '$log10']);
