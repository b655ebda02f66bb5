import { Binary, BSONRegExp, type Decimal128 } from 'bson';
import { roundDecimal, wholePartOfDecimal } from '../bson/decimal-arithmetic.js';
import { decodeDocument } from '../bson/decode.js';
import type { Collation } from '../bson/collation.js';
import { decimalParts, isNumber, longValue, type NumberValue, toNumber } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import { typeOf, typeOfAlias } from '../bson/type-of.js';
import { type Doc, RawDocument, type Value } from '../bson/value.js';
import { type ComparisonOperator, comparisonTest, inTest, type LeafTest } from './comparison.js';
import { namedIn } from '../node/language-names.js';
import { isOperatorDocument } from './operator-document.js';
import { badValue, failedToParse } from './query-error.js';
import { regexTest } from './regex.js';

/** How one operator tests the values that a path reaches. */
export interface FieldTest {
  test: LeafTest;
  /** Whether elements of an array at the end of the path are tested too. */
  leafArrays: boolean;
  /** Whether the field matches when nothing passes the test. */
  negated: boolean;
}

/** Compiles embedded queries. Passed in by the matcher, which this file must not import. */
export interface NestedQueries {
  /** True for conditions on one array element: an element that is an array itself is not expanded. */
  readonly ofElement?: true;
  /** Null does not match undefined. */
  readonly nullIsStrict: boolean;
  compileFilter(filter: Doc): (doc: Doc) => boolean;
  compileOperators(operators: Doc): (value: Value) => boolean;
}

const SIGNED_64 = 64;
const TYPE_BYTE_MAX = 127;

/** In the words of 8.0.10, or of 5.0.7; null is strict since 8.0. */
function regexCompared(path: string, { nullIsStrict }: NestedQueries): Error {
  const predicate = nullIsStrict ? 'non-equality predicate' : 'predicate';
  return badValue(`Can't have RegEx as arg to ${predicate} over field '${path}'.`);
}

/**
 * Compiles one operator of a field.
 * @param path of the field, for messages
 * @throws CommandError 2 (BadValue) with the server's message
 */
export function compileOperator(
  name: string,
  operand: Value,
  path: string,
  siblings: Doc,
  nested: NestedQueries,
  collation?: Collation,
): FieldTest | undefined {
  switch (name) {
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      if (operand instanceof BSONRegExp) throw regexCompared(path, nested);
      return traversing(comparison(name, operand, nested, collation));
    case '$eq':
      return traversing(comparison(name, operand, nested, collation));
    case '$ne':
      if (operand instanceof BSONRegExp) throw badValue("Can't have regex as arg to $ne.");
      return { ...traversing(comparison('$eq', operand, nested, collation)), negated: true };
    case '$in':
      return traversing(inTest(listOperand(operand, '$in'), collation, nested.nullIsStrict));
    case '$nin':
      return { ...traversing(inTest(listOperand(operand, '$nin'), collation, nested.nullIsStrict)), negated: true };
    case '$exists':
      return { test: (value) => value !== undefined, leafArrays: false, negated: !countsAsTrue(operand) };
    case '$type':
      return traversing(typeTest(operand));
    case '$regex':
      return traversing(regexOperator(operand, siblings));
    case '$options':
      if (!siblings.has('$regex')) throw badValue('$options needs a $regex');
      return undefined;
    case '$mod':
      return traversing(modTest(operand));
    case '$size':
      return whole(sizeTest(operand, nested.nullIsStrict));
    case '$elemMatch':
      return whole(elemMatchTest(operand, nested));
    case '$comment':
      return undefined;
    case '$bitsAllSet':
    case '$bitsAnySet':
    case '$bitsAllClear':
    case '$bitsAnyClear':
      return traversing(bitsTest(name, operand));
    default:
      namedIn(undefined, 'condition', name, undefined);
      throw badValue(`unknown operator: ${name}`);
  }
}

/** Whether a value counts as true in an option: anything but false, null and zero. */
export function countsAsTrue(value: Value): boolean {
  return isNumber(value) ? toNumber(value) !== 0 : value !== false && value !== null;
}

/** Plain values and regular expressions written without an operator. */
export function equalityTest(operand: Value, nested: NestedQueries, collation?: Collation): FieldTest {
  const test =
    operand instanceof BSONRegExp
      ? regexTest(operand.pattern, operand.options)
      : comparison('$eq', operand, nested, collation);
  return traversing(test);
}

/** The operand of an operator that takes a list. */
export function listOperand(operand: Value, name: string): Value[] {
  if (!Array.isArray(operand)) throw badValue(`${name} needs an array`);
  for (const value of operand) {
    if (isOperatorDocument(value)) throw badValue(`cannot nest $ under ${name}`);
  }
  return operand;
}

function traversing(test: LeafTest): FieldTest {
  return { test, leafArrays: true, negated: false };
}

function whole(test: LeafTest): FieldTest {
  return { test, leafArrays: false, negated: false };
}

function comparison(
  operator: ComparisonOperator,
  operand: Value,
  { nullIsStrict }: NestedQueries,
  collation?: Collation,
): LeafTest {
  return comparisonTest(
    operator,
    operand instanceof RawDocument ? decodeDocument(operand.bytes) : operand,
    collation,
    nullIsStrict,
  );
}

function typeTest(operand: Value): LeafTest {
  const types = new Set<number>();
  for (const type of Array.isArray(operand) ? operand : [operand]) for (const code of typeCodes(type)) types.add(code);
  if (types.size === 0) throw failedToParse(' must match at least one type');
  return (value) => value !== undefined && types.has(typeOf(value));
}

function typeCodes(operand: Value): number[] {
  if (operand === 'number') return [0x01, 0x10, 0x12, 0x13];
  if (typeof operand === 'string') {
    const type = typeOfAlias(operand);
    if (type === undefined) throw badValue(`Unknown type name alias: ${operand}`);
    return [type];
  }
  if (!isNumber(operand)) throw failedToParse('type must be represented as a number or a string');
  const code = toNumber(operand);
  if (code === 0) throw badValue('Invalid numerical type code: 0. Instead use {$exists:false}.');
  if (code === -1) return [0xff];
  if (!Number.isInteger(code) || code < 1 || code > TYPE_BYTE_MAX || (code > 0x13 && code < TYPE_BYTE_MAX))
    throw badValue(`Invalid numerical type code: ${code}`);
  return [code];
}

function regexOperator(operand: Value, siblings: Doc): LeafTest {
  const options = siblings.get('$options');
  if (options !== undefined && typeof options !== 'string') throw badValue('$options has to be a string');
  if (operand instanceof BSONRegExp) return regexTest(operand.pattern, options ?? operand.options);
  if (typeof operand !== 'string') throw badValue('$regex has to be a string');
  return regexTest(operand, options ?? '');
}

function modTest(operand: Value): LeafTest {
  if (!Array.isArray(operand)) throw badValue('malformed mod, needs to be an array');
  const [divisor, remainder, ...more] = operand;
  if (divisor === undefined || remainder === undefined) throw badValue('malformed mod, not enough elements');
  if (more.length > 0) throw badValue('malformed mod, too many elements');
  if (!isNumber(divisor) || !isNumber(remainder)) throw badValue('malformed mod, divisor not a number');
  const [by, rest] = [modNumber(divisor, 'divisor'), modNumber(remainder, 'remainder')];
  if (by === 0n) throw badValue('divisor cannot be 0');
  return (value) => {
    const whole = isNumber(value) ? wholePart(value) : undefined;
    return whole !== undefined && whole === BigInt.asIntN(64, whole) && whole % by === rest;
  };
}

const outOfBounds = 'Out of bounds coercing to integral value';

/** A number of `$mod` as a 64-bit integer; 2^63 passes the server's check, and wraps around. */
function modNumber(value: NumberValue, what: string): bigint {
  const whole = wholePart(value);
  if (whole !== undefined && whole <= 2n ** 63n && whole >= -(2n ** 63n)) return BigInt.asIntN(64, whole);
  const why = whole === undefined ? 'Unable to coerce NaN/Inf to integral type' : outOfBounds;
  throw badValue(`malformed mod, ${what} value is invalid :: caused by :: ${why}`);
}

function wholePart(value: NumberValue): bigint | undefined {
  if (value._bsontype === 'Long') return longValue(value);
  const number = toNumber(value);
  return Number.isFinite(number) ? BigInt(Math.trunc(number)) : undefined;
}

/** @param isShown messages quote the operand, as since 8.0 */
function sizeTest(operand: Value, isShown: boolean): LeafTest {
  const refused = (before: string, wanted: string): Error =>
    badValue(isShown ? `Failed to parse $size. Expected ${wanted}: $size: ${valueText(operand)}` : before);
  if (!isNumber(operand)) throw refused('$size needs a number', 'a number in');
  const size = toNumber(operand);
  if (!Number.isInteger(size)) throw refused('$size must be a whole number', 'an integer');
  if (size < 0) throw refused('$size may not be negative', 'a non-negative number in');
  return (value) => Array.isArray(value) && value.length === size;
}

function elemMatchTest(operand: Value, nested: NestedQueries): LeafTest {
  if (!(operand instanceof Map)) throw badValue('$elemMatch needs an Object');
  if (isValueMatch(operand)) {
    const matches = nested.compileOperators(operand);
    return (value) => Array.isArray(value) && value.some(matches);
  }
  const matches = nested.compileFilter(operand);
  return (value) => Array.isArray(value) && value.some((item) => isContainer(item) && matches(asDocument(item)));
}

/** An `$elemMatch` of operators on the element itself, unlike one of a query on its fields. */
function isValueMatch(operand: Doc): boolean {
  const [first] = operand.keys();
  return first?.startsWith('$') === true && !['$and', '$or', '$nor', '$where', '$expr', '$jsonSchema'].includes(first);
}

function isContainer(value: Value): value is Doc | Value[] {
  return value instanceof Map || Array.isArray(value);
}

function asDocument(value: Doc | Value[]): Doc {
  return value instanceof Map ? value : new Map(value.map((item, index) => [String(index), item]));
}

function bitsTest(name: string, operand: Value): LeafTest {
  const mask = bitMask(name, operand);
  return (value) => {
    const bits = bitsOf(value);
    if (bits === undefined) return false;
    const set = bits & mask;
    if (name === '$bitsAllSet') return set === mask;
    if (name === '$bitsAnySet') return set !== 0n;
    return name === '$bitsAllClear' ? set === 0n : set !== mask;
  };
}

function bitMask(name: string, operand: Value): bigint {
  if (Array.isArray(operand)) {
    return operand.reduce<bigint>((mask, position) => {
      if (!isNumber(position) || toNumber(position) < 0)
        throw badValue(`Failed to parse bit position. Expected a non-negative number in: ${name}`);
      return mask | (1n << BigInt(toNumber(position)));
    }, 0n);
  }
  const bits = bitsOf(operand);
  if (bits === undefined || bits < 0n)
    throw badValue(`${name} takes an Array, a number, or a BinData but received: ${typeof operand}`);
  return bits;
}

/** A decimal that has no whole number becomes the least long. */
function bitsOf(value: Value | undefined): bigint | undefined {
  if (value instanceof Binary)
    return [...value.buffer.subarray(0, value.position)].reduce(
      (bits, byte, index) => bits | (BigInt(byte) << BigInt(index * 8)),
      0n,
    );
  if (!isNumber(value)) return undefined;
  if (value._bsontype === 'Decimal128') return inLongs(wholeDecimal(value)) ?? -(1n << BigInt(SIGNED_64 - 1));
  return value._bsontype !== 'Double' || Number.isInteger(value.value) ? inLongs(wholePart(value)) : undefined;
}

function wholeDecimal(value: Decimal128): bigint | undefined {
  const parts = decimalParts(roundDecimal(value, 0, 'half even'));
  return parts.kind === 'finite' ? wholePartOfDecimal(parts) : undefined;
}

function inLongs(whole: bigint | undefined): bigint | undefined {
  return whole === undefined || whole !== BigInt.asIntN(SIGNED_64, whole) ? undefined : whole;
}
