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
  let [count, mean, squares] = [0, 0, 0];
  for (const value of values.filter(isNumber).map(toNumber)) {
    count += 1;
    const distance = value - mean;
    if (distance === 0) continue;
    mean += distance / count;
    squares += distance * (value - mean);
  }
  return count === 0 ? null : new Double(Math.sqrt(squares / count));
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
