import { Int32, Timestamp } from 'bson';
import { addNumbers, combineBits, multiplyNumbers } from '../bson/arithmetic.js';
import { compareValues } from '../bson/compare.js';
import { isNumber, type NumberValue } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import { DateTime, type Value } from '../bson/value.js';
import { badValue, typeMismatch } from '../query/query-error.js';
import type { LeafOperator } from './leaf-operator.js';

/** `$inc`, `$mul`, `$min`, `$max`, `$bit` and `$currentDate`. */
export const numberOperators: Readonly<Record<string, LeafOperator>> = {
  $inc: ({ present, operand, name, id }) => {
    const by = numericOperand(operand, name, 'increment');
    return present === undefined ? by : exact('$inc', addNumbers(numericField(present, '$inc', name, id), by), present, by, id);
  },
  $mul: ({ present, operand, name, id }) => {
    const by = numericOperand(operand, name, 'multiply');
    return present === undefined ? multiplyNumbers(by, new Int32(0)) : exact('$mul', multiplyNumbers(numericField(present, '$mul', name, id), by), present, by, id);
  },
  $min: ({ present, operand, options }) => (present === undefined || compareValues(operand, present, options.collation) < 0 ? operand : present),
  $max: ({ present, operand, options }) => (present === undefined || compareValues(operand, present, options.collation) > 0 ? operand : present),
  $bit: ({ present, operand, name, id }) => applyBits(present, operand, name, id),
  $currentDate: ({ operand, options }) => currentDate(operand, options.context?.now, options.context?.clusterTime),
};

/** Whole numbers that leave the range of longs are refused, unlike in expressions. */
function exact(operator: string, result: NumberValue, present: Value, by: NumberValue, id: Value | undefined): NumberValue {
  const whole = (value: Value): boolean => isNumber(value) && (value._bsontype === 'Int32' || value._bsontype === 'Long');
  if (result._bsontype !== 'Double' || !whole(present) || !whole(by)) return result;
  throw badValue(`Failed to apply ${operator} operations to current value ((NumberLong)${valueText(present)}) for document {_id: ${valueText(id ?? null)}}`);
}

function numericOperand(operand: Value, name: string, verb: string): NumberValue {
  if (isNumber(operand)) return operand;
  throw typeMismatch(`Cannot ${verb} with non-numeric argument: {${name}: ${valueText(operand)}}`);
}

function numericField(value: Value, operator: string, name: string, id: Value | undefined): NumberValue {
  if (isNumber(value)) return value;
  throw typeMismatch(`Cannot apply ${operator} to a value of non-numeric type. {_id: ${valueText(id ?? null)}} has the field '${name}' of non-numeric type ${typeName(value)}`);
}

function applyBits(present: Value | undefined, operand: Value, name: string, id: Value | undefined): Value {
  if (!(operand instanceof Map)) throw badValue(`The $bit modifier is not compatible with a ${typeName(operand)}. You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}`);
  if (operand.size === 0) throw badValue(`You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}`);
  let value: NumberValue = new Int32(0);
  if (present !== undefined) {
    if (!isNumber(present) || present._bsontype === 'Double' || present._bsontype === 'Decimal128') {
      throw badValue(`Cannot apply $bit to a value of non-integral type.{_id: ${valueText(id ?? null)}} has the field ${name} of non-integer type ${typeName(present)}`);
    }
    value = present;
  }
  for (const [operation, bits] of operand) {
    const apply = bitOperations[operation];
    if (apply === undefined) throw badValue(`The $bit modifier only supports 'and', 'or', and 'xor', not '${operation}' which is an unknown operator`);
    if (!isNumber(bits) || bits._bsontype === 'Double' || bits._bsontype === 'Decimal128') throw badValue(`The $bit modifier field must be an Integer(32/64 bit); a '${typeName(bits)}' is not supported here`);
    value = combineBits(value, bits, apply);
  }
  return value;
}

const bitOperations: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  and: (a, b) => a & b,
  or: (a, b) => a | b,
  xor: (a, b) => a ^ b,
};

function currentDate(operand: Value, now: DateTime | undefined, clusterTime: Timestamp | undefined): Value {
  if (typeof operand !== 'boolean' && !(operand instanceof Map)) {
    throw badValue(`${typeName(operand)} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).`);
  }
  const kind = operand instanceof Map ? operand.get('$type') : 'date';
  if (kind !== 'date' && kind !== 'timestamp') throw badValue("The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}");
  const date = now ?? new DateTime(BigInt(Date.now()));
  return kind === 'date' ? date : (clusterTime ?? new Timestamp({ t: Number(date.ms / 1000n), i: 1 }));
}
