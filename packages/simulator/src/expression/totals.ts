import { Int32 } from 'bson';
import { addNumbers, divideNumbers } from '../bson/arithmetic.js';
import { compareValues } from '../bson/compare.js';
import { isNumber, type NumberValue } from '../bson/exact-number.js';
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
