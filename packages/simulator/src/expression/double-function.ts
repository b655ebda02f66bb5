import { Double } from 'bson';
import { type NumberValue, toNumber } from '../bson/exact-number.js';
import { unsimulated } from '../node/unsimulated.js';

/**
 * A function of numbers as doubles.
 * @throws CommandError as not simulated for decimals, which servers compute with 34 digits
 */
export function doubleFunction(name: string, apply: (...values: number[]) => number, ...values: NumberValue[]): Double {
  if (values.some((value) => value._bsontype === 'Decimal128')) throw unsimulated(`${name} of a decimal`);
  return new Double(apply(...values.map(toNumber)));
}
