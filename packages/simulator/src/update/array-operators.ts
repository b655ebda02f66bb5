import { compareValues, equalValues } from '../bson/compare.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { compileMatcher, compileValueMatcher, isOperatorDocument } from '../query/matcher.js';
import { badValue, failedToParse, typeMismatch } from '../query/query-error.js';
import { compileSort } from '../query/sort.js';
import type { LeafInput, LeafOperator } from './leaf-operator.js';

/** Operators on arrays. A missing field becomes an array or stays missing. */
export const arrayOperators: Readonly<Record<string, LeafOperator>> = {
  $push: push,
  $addToSet: addToSet,
  $pop: pop,
  $pull: ({ present, operand, options }) => {
    if (present === undefined) return undefined;
    if (!Array.isArray(present)) throw badValue('Cannot apply $pull to a non-array value');
    const pulled = pullTest(operand, options.collation);
    return present.filter((item) => !pulled(item));
  },
  $pullAll: ({ present, operand, options }) => {
    if (!Array.isArray(operand)) throw badValue(`$pullAll requires an array argument but was given a ${typeName(operand)}`);
    if (present === undefined) return undefined;
    if (!Array.isArray(present)) throw badValue('Cannot apply $pull to a non-array value');
    return present.filter((item) => !operand.some((pulled) => equalValues(item, pulled, options.collation)));
  },
};

const pushModifiers = new Set(['$each', '$position', '$slice', '$sort']);

/** True for a `$push` that only appends; the server logs each appended element by itself. */
export function isPlainAppend(operand: Value): boolean {
  return !isModified(operand) || (!operand.has('$position') && !operand.has('$slice') && !operand.has('$sort'));
}

function isModified(operand: Value): operand is Doc {
  return operand instanceof Map && operand.has('$each');
}

function push({ present, operand, name, id }: LeafInput): Value {
  if (present !== undefined && !Array.isArray(present)) {
    throw badValue(`The field '${name}' must be an array but is of type ${typeName(present)} in document {_id: ${valueText(id ?? null)}}`);
  }
  const items = present ?? [];
  if (!isModified(operand)) return [...items, operand];
  for (const modifier of operand.keys()) if (!pushModifiers.has(modifier)) throw badValue(`Unrecognized clause in $push: ${modifier}`);
  const added = operand.get('$each');
  if (!Array.isArray(added)) throw badValue(`The argument to $each in $push must be an array but it was of type: ${typeName(added)}`);
  const at = pushPosition(operand.get('$position'), items.length);
  const joined = [...items.slice(0, at), ...added, ...items.slice(at)];
  return sliced(sorted(joined, operand.get('$sort')), operand.get('$slice'));
}

function pushPosition(position: Value | undefined, length: number): number {
  if (position === undefined) return length;
  const at = integer(position, '$position');
  return at >= 0 ? Math.min(at, length) : Math.max(0, length + at);
}

function sorted(items: Value[], spec: Value | undefined): Value[] {
  if (spec === undefined) return items;
  if (spec instanceof Map) {
    const compare = compileSort(spec);
    return items.toSorted((a, b) => (a instanceof Map && b instanceof Map ? compare(a, b) : compareValues(a, b)));
  }
  const direction = isNumber(spec) ? toNumber(spec) : 0;
  if (direction !== 1 && direction !== -1) throw badValue('The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields');
  return items.toSorted((a, b) => compareValues(a, b) * direction);
}

function sliced(items: Value[], slice: Value | undefined): Value[] {
  if (slice === undefined) return items;
  const count = integer(slice, '$slice');
  return count >= 0 ? items.slice(0, count) : items.slice(count);
}

function integer(value: Value, name: string): number {
  if (isNumber(value) && Number.isInteger(toNumber(value))) return toNumber(value);
  throw badValue(`The value for ${name} must be an integer value but was given type: ${typeName(value)}`);
}

function addToSet({ present, operand, name, options }: LeafInput): Value {
  if (present !== undefined && !Array.isArray(present)) {
    throw badValue(`Cannot apply $addToSet to non-array field. Field named '${name}' has non-array type ${typeName(present)}`);
  }
  const each = operand instanceof Map ? operand.get('$each') : undefined;
  if (each !== undefined && !Array.isArray(each)) throw typeMismatch(`The argument to $each in $addToSet must be an array but it was of type ${typeName(each)}`);
  if (each !== undefined && operand instanceof Map && operand.size > 1) throw badValue(`Found unexpected fields after $each in $addToSet: ${valueText(operand)}`);
  const items = [...(present ?? [])];
  for (const value of each ?? [operand]) if (!items.some((item) => equalValues(item, value, options.collation))) items.push(value);
  return items;
}

function pop({ present, operand, name }: LeafInput): Value | undefined {
  const end = isNumber(operand) ? toNumber(operand) : 0;
  if (end !== 1 && end !== -1) throw failedToParse(`$pop expects 1 or -1, found: ${valueText(operand)}`);
  if (present === undefined) return undefined;
  if (!Array.isArray(present)) throw typeMismatch(`Path '${name}' contains an element of non-array type '${typeName(present)}'`);
  return end === 1 ? present.slice(0, -1) : present.slice(1);
}

/** What `$pull` removes: by operators, by a query on embedded documents, or by equality. */
function pullTest(operand: Value, collation: LeafInput['options']['collation']): (item: Value) => boolean {
  if (operand instanceof Map) {
    if (isOperatorDocument(operand)) return compileValueMatcher(operand, collation);
    const matches = compileMatcher(operand, collation);
    return (item) => item instanceof Map && matches(item);
  }
  return typeof operand === 'object' && operand !== null && '_bsontype' in operand && operand._bsontype === 'BSONRegExp'
    ? compileValueMatcher(new Map([['$regex', operand]]), collation)
    : (item) => equalValues(item, operand, collation);
}
