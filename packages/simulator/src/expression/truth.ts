import { isNumber, toNumber } from '../bson/exact-number.js';
import { UndefinedValue, type Value } from '../bson/value.js';

/** Whether a value counts as true in an expression: all but false, null, missing, undefined and zero. */
export function isTruthy(value: Value | undefined): boolean {
  if (value === undefined || value === null || value === false || value instanceof UndefinedValue) return false;
  return !isNumber(value) || toNumber(value) !== 0;
}

/** Null, undefined or missing. */
export function isNullish(value: Value | undefined): value is null | undefined | UndefinedValue {
  return value === null || value === undefined || value instanceof UndefinedValue;
}
