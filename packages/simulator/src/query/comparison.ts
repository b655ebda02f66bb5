import { BSONRegExp, BSONSymbol, MaxKey, MinKey } from 'bson';
import type { Collation } from '../bson/collation.js';
import { compareValues, typeRank } from '../bson/compare.js';
import { ElementType } from '../bson/element-type.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { encodeKeyString } from '../bson/key-string.js';
import { typeOf } from '../bson/type-of.js';
import { UndefinedValue, type Value } from '../bson/value.js';
import type { ServerVersion } from '../node/server-version.js';
import { badValue } from './query-error.js';
import { regexTest } from './regex.js';

/** A test of one value that a path reaches. Undefined stands for a missing field. */
export type LeafTest = (value: Value | undefined) => boolean;

/** The comparison operators that compare with one value. */
export type ComparisonOperator = '$eq' | '$gt' | '$gte' | '$lt' | '$lte';

/** Longer lists are looked up by key instead of one by one. */
const LINEAR_LIST_MAX = 4;

/**
 * A test that compares within the type of the operand only, as queries do.
 * @param nullIsStrict null does not match undefined
 * @throws CommandError 2 for undefined as an operand
 */
export function comparisonTest(
  operator: ComparisonOperator,
  operand: Value,
  collation?: Collation,
  nullIsStrict = false,
): LeafTest {
  if (operand instanceof UndefinedValue) throw badValue('cannot compare to undefined');
  if (operand === null) return nullTest(operator, nullIsStrict);
  if (operand instanceof MinKey || operand instanceof MaxKey) return boundaryTest(operator, operand);
  if (isNumber(operand) && Number.isNaN(toNumber(operand))) return nanTest(operator);
  const rank = typeRank(operand);
  const accepts = acceptor(operator);
  return (value) =>
    value !== undefined &&
    typeRank(value) === rank &&
    !isNaNValue(value) &&
    accepts(compareValues(value, operand, collation));
}

/**
 * A test for `$in`: any of the values, texts also by regular expressions.
 * @param nullIsStrict null does not match undefined
 * @throws CommandError 2 for undefined in the list
 */
export function inTest(values: readonly Value[], collation?: Collation, nullIsStrict = false): LeafTest {
  if (values.some((value) => value instanceof UndefinedValue))
    throw badValue('InMatchExpression equality cannot be undefined');
  const tests = values
    .filter((value) => value instanceof BSONRegExp)
    .map((regex) => regexTest(regex.pattern, regex.options));
  const plain = values.filter((value) => !(value instanceof BSONRegExp));
  if (plain.includes(null)) tests.push(nullTest('$eq', nullIsStrict));
  const comparable = plain.filter((value) => value !== null);
  if (collation !== undefined || comparable.length <= LINEAR_LIST_MAX) {
    tests.push(...comparable.map((value) => comparisonTest('$eq', value, collation)));
  } else {
    tests.push(memberTest(comparable));
  }
  return (value) => tests.some((test) => test(value));
}

function memberTest(values: readonly Value[]): LeafTest {
  const keys = new Set(values.map(keyOf));
  return (value) => value !== undefined && keys.has(keyOf(value));
}

function keyOf(value: Value): string {
  const text = value instanceof BSONSymbol ? value.value : value;
  return typeof text === 'string' ? `s${text}` : encodeKeyString([value]).toString('latin1');
}

/**
 * Since 8.0 null in a filter matches null and missing fields only. Before, it matches the deprecated undefined too
 * (SERVER-81378).
 */
export function isNullStrict(version: ServerVersion | undefined): boolean {
  return version?.atLeast(8, 0) === true;
}

/** Null equals null, a missing field and, unless it is strict, the deprecated undefined. */
function nullTest(operator: ComparisonOperator, isStrict: boolean): LeafTest {
  if (operator === '$gt' || operator === '$lt') return () => false;
  return (value) => value === null || value === undefined || (!isStrict && value instanceof UndefinedValue);
}

/** MinKey and MaxKey compare with values of every type. */
function boundaryTest(operator: ComparisonOperator, operand: MinKey | MaxKey): LeafTest {
  const type = typeOf(operand);
  const others =
    operand instanceof MinKey ? operator === '$gt' || operator === '$gte' : operator === '$lt' || operator === '$lte';
  const same = operator === '$eq' || operator === '$gte' || operator === '$lte';
  return (value) => (value !== undefined && typeOf(value) === type ? same : others);
}

function nanTest(operator: ComparisonOperator): LeafTest {
  return operator === '$gt' || operator === '$lt' ? () => false : (value) => value !== undefined && isNaNValue(value);
}

function isNaNValue(value: Value): boolean {
  const type = typeOf(value);
  return (
    (type === ElementType.double || type === ElementType.decimal128) && isNumber(value) && Number.isNaN(toNumber(value))
  );
}

function acceptor(operator: ComparisonOperator): (order: number) => boolean {
  switch (operator) {
    case '$eq':
      return (order) => order === 0;
    case '$gt':
      return (order) => order > 0;
    case '$gte':
      return (order) => order >= 0;
    case '$lt':
      return (order) => order < 0;
    case '$lte':
      return (order) => order <= 0;
  }
}
