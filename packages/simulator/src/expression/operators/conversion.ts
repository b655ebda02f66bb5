import { Double, Int32, Long, ObjectId } from 'bson';
import { toDecimal } from '../../bson/arithmetic.js';
import { isNumber, type NumberValue, toNumber } from '../../bson/exact-number.js';
import { encodeDocument } from '../../bson/encode.js';
import { isNumberType, typeName, typeOf } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { fixed, type OperatorCompiler, type OperatorTable } from '../operator.js';
import { isNullish, isTruthy } from '../truth.js';
import { dateOf, isoText } from './date.js';

/** Types of values and conversions between them. Null stays null. */
export const conversionOperators: OperatorTable = {
  $type: fixed(1, ([value]) => typeName(value)),
  $isNumber: fixed(1, ([value]) => value !== undefined && isNumberType(typeOf(value))),
  $toString: conversion((value) => (typeof value === 'string' ? value : textFrom(value))),
  $toInt: conversion((value) => new Int32(Math.trunc(numberFrom(value, 'int')))),
  $toLong: conversion(longFrom),
  $toDouble: conversion((value) => new Double(numberFrom(value, 'double'))),
  $toDecimal: conversion((value) => toDecimal(isNumber(value) ? value : new Double(numberFrom(value, 'decimal')))),
  $toBool: conversion((value) => isTruthy(value)),
  $toDate: conversion(dateFrom),
  $toObjectId: conversion((value) => objectIdFrom(value)),
  $bsonSize: fixed(1, ([value]) => (value instanceof Map ? new Int32(encodeDocument(value).length) : null)),
  $binarySize: fixed(1, ([value]) => (typeof value === 'string' ? new Int32(Buffer.byteLength(value)) : null)),
};

const OBJECT_ID = /^[0-9a-fA-F]{24}$/;

function conversion(convert: (value: Value) => Value): OperatorCompiler {
  return fixed(1, ([value]) => (isNullish(value) ? null : convert(value)));
}

function failure(value: Value, target: string): CommandError {
  return new CommandError(241, 'ConversionFailure', `Unsupported conversion from ${typeName(value)} to ${target} in $convert with no onError value`);
}

function numberFrom(value: Value, target: string): number {
  if (isNumber(value)) return toNumber(value);
  if (typeof value === 'boolean') return Number(value);
  if (value instanceof DateTime) return Number(value.ms);
  if (typeof value === 'string' && value.trim() !== '' && !Number.isNaN(Number(value))) return Number(value);
  if (typeof value === 'string') throw new CommandError(241, 'ConversionFailure', `Failed to parse number '${value}' in $convert with no onError value`);
  throw failure(value, target);
}

function longFrom(value: Value): NumberValue {
  if (value instanceof DateTime) return Long.fromBigInt(value.ms);
  return isNumber(value) && value._bsontype === 'Long' ? value : Long.fromNumber(Math.trunc(numberFrom(value, 'long')));
}

function dateFrom(value: Value): Value {
  if (typeof value === 'string') {
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) throw new CommandError(241, 'ConversionFailure', `Error parsing date string '${value}'`);
    return new DateTime(BigInt(ms));
  }
  return isNumber(value) ? new DateTime(BigInt(Math.trunc(toNumber(value)))) : dateOf(value);
}

function textFrom(value: Value): string {
  if (isNumber(value)) return value.toString();
  if (typeof value === 'boolean') return String(value);
  if (value instanceof ObjectId) return value.toHexString();
  if (value instanceof DateTime) return isoText(value);
  throw failure(value, 'string');
}

function objectIdFrom(value: Value): Value {
  if (value instanceof ObjectId) return value;
  if (typeof value === 'string' && OBJECT_ID.test(value)) return new ObjectId(value);
  throw failure(value, 'objectId');
}
