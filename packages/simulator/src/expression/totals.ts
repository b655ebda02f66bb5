import { Double } from 'bson';
import { compareValues } from '../bson/compare.js';
import { isNumber, type NumberValue, toNumber } from '../bson/exact-number.js';
import { totalOf } from '../bson/number-total.js';
import type { Value } from '../bson/value.js';
import { isNullish } from './truth.js';

/** The sum of the numbers among the values. Others are ignored. */
export function sumOf(values: readonly (Value | undefined)[]): NumberValue {
  return totalOf(values.filter(isNumber)).sum();
}

/** The mean of the numbers among the values, null when there is none. */
export function averageOf(values: readonly (Value | undefined)[]): Value {
  return totalOf(values.filter(isNumber)).average();
}

/** The standard deviation of the numbers among the values, as those of a whole population; null when there is none. */
export function deviationOf(values: readonly (Value | undefined)[]): Value {
  const numbers = values.filter(isNumber).map(toNumber);
  if (numbers.length === 0) return null;
  const mean = numbers.reduce((sum, value) => sum + value, 0) / numbers.length;
  const squares = numbers.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return new Double(Math.sqrt(squares / numbers.length));
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
