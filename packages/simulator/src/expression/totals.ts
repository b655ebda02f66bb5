import { Double, Int32 } from 'bson';
import { addNumbers, divideNumbers } from '../bson/arithmetic.js';
import { compareValues } from '../bson/compare.js';
import { isNumber, type NumberValue, toNumber } from '../bson/exact-number.js';
import type { Value } from '../bson/value.js';
import { isNullish } from './truth.js';

/** The sum of the numbers among the values; others count nothing. */
export function sumOf(values: readonly (Value | undefined)[]): NumberValue {
  return values.reduce<NumberValue>((sum, value) => (isNumber(value) ? addNumbers(sum, value) : sum), new Int32(0));
}

/** The mean of the numbers among the values, null when there is none. */
export function averageOf(values: readonly (Value | undefined)[]): Value {
  const numbers = values.filter(isNumber);
  return numbers.length === 0 ? null : divideNumbers(sumOf(numbers), new Int32(numbers.length));
}

/** The standard deviation of the numbers among the values. @param missing 0 for a whole population, 1 for a sample */
export function deviationOf(values: readonly (Value | undefined)[], missing: number): Value {
  const numbers = values.filter(isNumber).map(toNumber);
  if (numbers.length <= missing) return null;
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return new Double(Math.sqrt(squares / (numbers.length - missing)));
}

/** The least value that is not null, or null. */
export function minimumOf(values: readonly (Value | undefined)[]): Value {
  return extreme(values, -1);
}

/** The greatest value that is not null, or null. */
export function maximumOf(values: readonly (Value | undefined)[]): Value {
  return extreme(values, 1);
}

function extreme(values: readonly (Value | undefined)[], sign: number): Value {
  let found: Value = null;
  for (const value of values) {
    if (isNullish(value)) continue;
    if (found === null || compareValues(value, found) * sign > 0) found = value;
  }
  return found;
}
