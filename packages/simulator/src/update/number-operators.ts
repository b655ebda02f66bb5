import { Int32 } from 'bson';
import { addNumbers, combineBits, multiplyNumbers } from '../bson/arithmetic.js';
import { compareValues } from '../bson/compare.js';
import { compareNumbers, isNumber, type NumberValue } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import { DateTime, type Value } from '../bson/value.js';
import { unsimulated } from '../node/unsimulated.js';
import { badValue, typeMismatch } from '../query/query-error.js';
import type { Change, LeafOperator, LeafSite } from './leaf-operator.js';

/** `$inc`, `$mul`, `$min`, `$max`, `$bit` and `$currentDate`. */
export const numberOperators: Readonly<Record<string, LeafOperator>> = {
  $inc: (operand, { path }) => {
    const by = numericOperand(operand, path, 'increment');
    return (site) =>
      site.present === undefined ? by : exact('$inc', addNumbers(numericField(site, '$inc'), by), site, by);
  },
  $mul: (operand, { path }) => {
    const by = numericOperand(operand, path, 'multiply');
    return (site) =>
      site.present === undefined
        ? multiplyNumbers(by, new Int32(0))
        : exact('$mul', multiplyNumbers(numericField(site, '$mul'), by), site, by);
  },
  $min:
    (operand, { options: { collation } }) =>
    ({ present }) =>
      present === undefined || compareValues(operand, present, collation) < 0 ? operand : present,
  $max:
    (operand, { options: { collation } }) =>
    ({ present }) =>
      present === undefined || compareValues(operand, present, collation) > 0 ? operand : present,
  $bit: compileBits,
  $currentDate: (operand, { options: { context } }) => {
    if (operand !== true) throw unsimulated('$currentDate with a type');
    const date = context?.now ?? new DateTime(BigInt(Date.now()));
    return () => date;
  },
};

/**
 * An equal number of the same type changes nothing, even 1.0 and 1.00. Whole numbers beyond the range of longs are
 * refused, unlike in expressions.
 */
function exact(operator: string, result: NumberValue, { present, id }: LeafSite, by: NumberValue): NumberValue {
  if (isNumber(present) && present._bsontype === result._bsontype && compareNumbers(present, result) === 0)
    return present;
  if (result._bsontype !== 'Double' || !isNumber(present) || !isWhole(present) || !isWhole(by)) return result;
  const type = present._bsontype === 'Int32' ? 'NumberInt' : 'NumberLong';
  throw badValue(
    `Failed to apply ${operator} operations to current value ((${type})${valueText(present)}) for document ` +
      `{_id: ${valueText(id ?? null)}}`,
  );
}

function isWhole({ _bsontype: type }: NumberValue): boolean {
  return type === 'Int32' || type === 'Long';
}

function numericOperand(operand: Value, path: string, verb: string): NumberValue {
  if (isNumber(operand)) return operand;
  throw typeMismatch(`Cannot ${verb} with non-numeric argument: {${path}: ${valueText(operand)}}`);
}

function numericField({ present, name, id }: LeafSite, operator: string): NumberValue {
  if (isNumber(present)) return present;
  throw typeMismatch(
    `Cannot apply ${operator} to a value of non-numeric type. {_id: ${valueText(id ?? null)}} has the field ` +
      `'${name}' of non-numeric type ${typeName(present)}`,
  );
}

function compileBits(operand: Value): Change {
  if (!(operand instanceof Map))
    throw badValue(
      `The $bit modifier is not compatible with a ${typeName(operand)}. You must pass in an embedded document: ` +
        '{$bit: {field: {and/or/xor: #}}',
    );
  const steps = [...operand].map(([operation, bits]) => bitStep(operation, bits));
  if (steps.length === 0)
    throw badValue('You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}');
  return ({ present = new Int32(0), name, id }) => {
    if (!isNumber(present) || !isWhole(present)) {
      throw badValue(
        `Cannot apply $bit to a value of non-integral type._id: ${valueText(id ?? null)} has the field ${name} ` +
          `of non-integer type ${typeName(present)}`,
      );
    }
    return steps.reduce((value: NumberValue, step) => step(value), present);
  };
}

function bitStep(operation: string, bits: Value): (value: NumberValue) => NumberValue {
  const apply = bitOperations[operation];
  const shown = `{${operation}: ${valueText(bits)}}`;
  if (apply === undefined)
    throw badValue(
      `The $bit modifier only supports 'and', 'or', and 'xor', not '${operation}' which is an unknown ` +
        `operator: ${shown}`,
    );
  if (!isNumber(bits) || !isWhole(bits))
    throw badValue(
      `The $bit modifier field must be an Integer(32/64 bit); a '${typeName(bits)}' is not supported here: ${shown}`,
    );
  return (value) => combineBits(value, bits, apply);
}

const bitOperations: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};
