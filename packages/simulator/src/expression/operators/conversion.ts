import { Binary, Decimal128, Double, Int32, Long, ObjectId } from 'bson';
import { toDecimal } from '../../bson/arithmetic.js';
import { isNumber, longValue, type NumberValue, toNumber } from '../../bson/exact-number.js';
import { computedText } from '../../bson/computed-text.js';
import { encodeDocument } from '../../bson/encode.js';
import { isNumberType, typeName, typeOf, typeOfAlias } from '../../bson/type-of.js';
import { encodeUtf8 } from '../../bson/utf8.js';
import { DateTime, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { namedIn } from '../../node/language-names.js';
import type { ServerVersion } from '../../node/server-version.js';
import { unsimulated } from '../../node/unsimulated.js';
import { located } from '../../query/query-error.js';
import {
  type Compile,
  type Evaluate,
  fixed,
  namedArguments,
  type OperatorCompiler,
  type OperatorTable,
} from '../operator.js';
import type { ExpressionContext } from '../variables.js';
import { isNullish, isTruthy } from '../truth.js';
import { dateFromText } from './date-text.js';
import { dateOf, isoText } from './date.js';

/** How each type is made from the others. */
const conversions: Readonly<Record<string, (value: Value) => Value>> = {
  double: (value) => new Double(numberFrom(value, 'double')),
  string: (value) => (typeof value === 'string' ? value : textFrom(value)),
  objectId: (value) => objectIdFrom(value),
  bool: (value) => typeof value === 'string' || isTruthy(value),
  date: dateFrom,
  int: (value) => new Int32(wholeFrom(value, 'int', INT_LIMIT)),
  long: longFrom,
  decimal: decimalFrom,
};

const OPERATOR_NAMES: Readonly<Record<string, string>> = {
  double: 'Double',
  string: 'String',
  objectId: 'ObjectId',
  bool: 'Bool',
  date: 'Date',
  int: 'Int',
  long: 'Long',
  decimal: 'Decimal',
};
/** The first number above the 32-bit and above the 64-bit integers. */
const INT_LIMIT = 2 ** 31;
const LONG_LIMIT = 2 ** 63;

/** Types of values and conversions between them. Null stays null. */
export const conversionOperators: OperatorTable = {
  $type: fixed(1, ([value]) => typeName(value)),
  $isNumber: fixed(1, ([value]) => value !== undefined && isNumberType(typeOf(value))),
  ...Object.fromEntries(
    Object.entries(conversions).map(([type, convert]) => [`$to${OPERATOR_NAMES[type] ?? ''}`, conversion(convert)]),
  ),
  $convert: compileConvert,
  $bsonSize: fixed(1, ([value]) => bsonSize(value)),
};

function bsonSize(value: Value | undefined): Value {
  if (isNullish(value)) return null;
  if (value instanceof Map) return new Int32(encodeDocument(value).length);
  throw located(31393, `$bsonSize requires a document input, found: ${typeName(value)}`);
}

const OBJECT_ID = /^[0-9a-fA-F]{24}$/;

function conversion(convert: (value: Value) => Value): OperatorCompiler {
  return fixed(1, ([value], _name, { version }) => (isNullish(value) ? null : convert(convertible(value, version))));
}

/** 8.0 converts binary data. @throws CommandError 115 for it then */
function convertible(value: Value, version: ServerVersion | undefined): Value {
  if (value instanceof Binary) namedIn(version, 'option', '$convert of binary data', undefined);
  return value;
}

function failure(value: Value, target: string): CommandError {
  return new CommandError(
    241,
    'ConversionFailure',
    `Unsupported conversion from ${typeName(value)} to ${target} in $convert with no onError value`,
  );
}

function numberFrom(value: Value, target: string): number {
  if (isNumber(value)) return toNumber(value);
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof DateTime) return Number(value.ms);
  if (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value))) return Number(value);
  if (typeof value === 'string')
    throw notParsed(
      value,
      value === '' ? 'Empty string' : /^[+-]?\.?\d/.test(value) ? notWhole : 'Did not consume any digits',
    );
  throw failure(value, target);
}

function longFrom(value: Value): NumberValue {
  if (value instanceof DateTime) return Long.fromBigInt(value.ms);
  if (isNumber(value) && value._bsontype === 'Long') return value;
  if (typeof value === 'string' && WHOLE_TEXT.test(value)) {
    const whole = BigInt(value);
    if (whole !== BigInt.asIntN(64, whole)) throw notParsed(value, 'Overflow');
    return Long.fromBigInt(whole);
  }
  return Long.fromBigInt(BigInt(wholeFrom(value, 'long', LONG_LIMIT)));
}

const WHOLE_TEXT = /^[+-]?\d+$/;

/** The whole part of a number. @throws CommandError 241 for one that does not fit */
function wholeFrom(value: Value, target: string, limit: number): number {
  if (typeof value === 'string' && !WHOLE_TEXT.test(value))
    throw notParsed(value, value === '' ? 'No digits' : notWhole);
  if (value instanceof DateTime && target === 'int') throw failure(value, target);
  const number = numberFrom(value, target);
  if (Number.isNaN(number) || Math.abs(number) === Infinity) {
    throw new CommandError(
      241,
      'ConversionFailure',
      `Attempt to convert ${Number.isNaN(number) ? 'NaN' : 'infinity'} value to integer type in $convert with ` +
        'no onError value',
    );
  }
  const whole = Math.trunc(number);
  if (whole >= limit || whole < -limit) {
    if (typeof value === 'string') throw notParsed(value, 'Overflow');
    throw new CommandError(
      241,
      'ConversionFailure',
      `Conversion would overflow target type in $convert with no onError value: ${overflowText(value)}`,
    );
  }
  return whole;
}

/** A number that does not fit, as servers show it: nothing for a long. */
function overflowText(value: Value): string {
  if (value instanceof Double) return computedText(value);
  return value instanceof Decimal128 ? value.toString() : '';
}

function decimalFrom(value: Value): NumberValue {
  if (isNumber(value)) return toDecimal(value);
  if (value instanceof DateTime) return toDecimal(Long.fromBigInt(value.ms));
  if (typeof value === 'boolean') return toDecimal(new Int32(Number(value)));
  if (typeof value !== 'string') throw failure(value, 'decimal');
  try {
    return Decimal128.fromString(value);
  } catch {
    throw notParsed(value, value === '' ? 'Empty string' : 'Failed to parse string to decimal');
  }
}

const notWhole = 'Did not consume whole string.';

function notParsed(text: string, why: string): CommandError {
  return new CommandError(
    241,
    'ConversionFailure',
    `Failed to parse number '${text}' in $convert with no onError value: ${why}`,
  );
}

/** `$convert`: to a type by name, with values for errors and nulls. */
function compileConvert(operand: Value, compile: Compile, _name: string, { version }: ExpressionContext): Evaluate {
  if (operand instanceof Map && operand.has('format')) namedIn(version, 'option', '$convert.format', undefined);
  const parts = namedArguments(operand, '$convert', ['input', 'to', 'onError', 'onNull'], ['input', 'to']);
  const [input, to, onNull] = ['input', 'to', 'onNull'].map((part) => compile(parts.get(part) ?? null)) as [
    Evaluate,
    Evaluate,
    Evaluate,
  ];
  const onError = parts.get('onError');
  const otherwise = onError === undefined ? undefined : compile(onError);
  return (variables) => {
    const value = input(variables);
    const target = to(variables);
    if (isNullish(target)) return null;
    if (target === 'binData' || target instanceof Map) namedIn(version, 'option', '$convert of binary data', undefined);
    const convert = conversionTo(target);
    if (isNullish(value)) return onNull(variables);
    try {
      return convert(convertible(value, version));
    } catch (error) {
      if (otherwise === undefined || !(error instanceof CommandError) || error.code !== 241) throw error;
      return otherwise(variables);
    }
  };
}

function conversionTo(target: Value): (value: Value) => Value {
  if (isNumber(target)) throw unsimulated('$convert to a type by its number');
  if (typeof target !== 'string' || typeOfAlias(target) === undefined)
    throw new CommandError(
      2,
      'BadValue',
      `Unknown type name: ${typeof target === 'string' ? target : typeName(target)}`,
    );
  return (
    conversions[target] ??
    ((value) => {
      throw failure(value, target);
    })
  );
}

function dateFrom(value: Value): Value {
  if (typeof value === 'string') return dateFromText(value);
  if (isNumber(value) && value._bsontype === 'Long') return new DateTime(longValue(value));
  if (isNumber(value) && value._bsontype !== 'Int32') return new DateTime(BigInt(wholeFrom(value, 'date', LONG_LIMIT)));
  if (value instanceof DateTime || value instanceof ObjectId) return dateOf(value);
  throw failure(value, 'date');
}

function textFrom(value: Value): string {
  // Here infinity has its long name, unlike where operators take a number as text.
  if (value instanceof Double && Number.isFinite(value.value)) return computedText(value);
  if (isNumber(value)) return value.toString();
  if (typeof value === 'boolean') return String(value);
  if (value instanceof ObjectId) return value.toHexString();
  if (value instanceof DateTime) return isoText(value);
  throw failure(value, 'string');
}

function objectIdFrom(value: Value): Value {
  if (value instanceof ObjectId) return value;
  if (typeof value === 'string' && OBJECT_ID.test(value)) return new ObjectId(value);
  if (typeof value === 'string') throw new CommandError(241, 'ConversionFailure', notAnId(value));
  throw failure(value, 'objectId');
}

function notAnId(text: string): string {
  const why =
    text.length === ID_DIGITS
      ? `Invalid character found in hex string: ${/[^0-9a-fA-F]/.exec(text)?.[0] ?? ''}`
      : `Invalid string length for parsing to OID, expected ${ID_DIGITS} but found ${encodeUtf8(text).length}`;
  return `Failed to parse objectId '${text}' in $convert with no onError value: ${why}`;
}

const ID_DIGITS = 24;
