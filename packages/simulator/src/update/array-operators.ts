import type { Collation } from '../bson/collation.js';
import { compareValues, equalValues } from '../bson/compare.js';
import { isNumber, toNumber } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { compileMatcher, compileValueMatcher } from '../query/matcher.js';
import { isElementCondition } from '../query/operator-document.js';
import { badValue, failedToParse, typeMismatch } from '../query/query-error.js';
import { compileSort } from '../query/sort.js';
import type { UpdateOptions } from './update-options.js';
import type { Change, LeafOperator, OperandSite } from './leaf-operator.js';

/** Operators on arrays. A missing field becomes an array or stays missing. */
export const arrayUpdateOperators: Readonly<Record<string, LeafOperator>> = {
  $push: compilePush,
  $addToSet: compileAddToSet,
  $pop: compilePop,
  $pull: (operand, { options }) => removing(pullTest(operand, options)),
  $pullAll: (operand, { options: { collation } }) => {
    if (!Array.isArray(operand))
      throw badValue(`$pullAll requires an array argument but was given a ${typeName(operand)}`);
    return removing((item) => operand.some((pulled) => equalValues(item, pulled, collation)));
  },
};

function removing(isPulled: (item: Value) => boolean): Change {
  return ({ present }) => {
    if (present === undefined) return undefined;
    if (!Array.isArray(present)) throw badValue('Cannot apply $pull to a non-array value');
    return present.filter((item) => !isPulled(item));
  };
}

const pushModifiers = new Set(['$each', '$position', '$slice', '$sort']);

/** True for a `$push` that only appends. The server logs each appended element separately. */
export function isPlainAppend(operand: Value): boolean {
  return !isModified(operand) || (!operand.has('$position') && !operand.has('$slice') && !operand.has('$sort'));
}

/** True for a `$push` of no elements that does not sort either. */
export function pushesNothing(operand: Value): boolean {
  const added = isModified(operand) ? operand.get('$each') : undefined;
  return Array.isArray(added) && added.length === 0 && isModified(operand) && !operand.has('$sort');
}

function isModified(operand: Value): operand is Doc {
  return operand instanceof Map && operand.has('$each');
}

function compilePush(operand: Value, { options: { collation } }: OperandSite): Change {
  const change = isModified(operand)
    ? compileModified(operand, collation)
    : (items: Value[]): Value[] => [...items, operand];
  return ({ present, path, id }) => {
    if (present === undefined || Array.isArray(present)) return change(present ?? []);
    throw badValue(
      `The field '${path}' must be an array but is of type ${typeName(present)} in document {_id: ` +
        `${valueText(id ?? null)}}`,
    );
  };
}

function compileModified(operand: Doc, collation: Collation | undefined): (items: Value[]) => Value[] {
  for (const modifier of operand.keys())
    if (!pushModifiers.has(modifier)) throw badValue(`Unrecognized clause in $push: ${modifier}`);
  const added = operand.get('$each');
  if (!Array.isArray(added))
    throw badValue(`The argument to $each in $push must be an array but it was of type: ${typeName(added)}`);
  const slice = integer(operand.get('$slice'), 'The value for $slice must be an integer value but was given type');
  const sort = compilePushSort(operand.get('$sort'), collation);
  const position = integer(operand.get('$position'), 'The value for $position must be an integer value, not of type');
  return (items) => {
    const at = pushPosition(position, items.length);
    return sliced(sort([...items.slice(0, at), ...added, ...items.slice(at)]), slice);
  };
}

function pushPosition(at: number | undefined, length: number): number {
  if (at === undefined) return length;
  return at >= 0 ? Math.min(at, length) : Math.max(0, length + at);
}

const fieldOrder = 'The $sort element value must be either 1 or -1';

function compilePushSort(spec: Value | undefined, collation: Collation | undefined): (items: Value[]) => Value[] {
  if (spec === undefined) return (items) => items;
  if (spec instanceof Map) {
    if (spec.size === 0) throw badValue('The $sort pattern is empty when it should be a set of fields.');
    if ([...spec.values()].some((direction) => !isNumber(direction) || Math.abs(toNumber(direction)) !== 1))
      throw badValue(fieldOrder);
    const compare = compileSort(spec, collation);
    return (items) => items.toSorted((a, b) => compare(fieldsOf(a), fieldsOf(b)));
  }
  if (!isNumber(spec))
    throw badValue('The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields');
  const direction = toNumber(spec);
  if (direction !== 1 && direction !== -1) throw badValue(fieldOrder);
  return (items) => items.toSorted((a, b) => compareValues(a, b, collation) * direction);
}

/** Values without fields sort as an empty document. */
function fieldsOf(item: Value): Doc {
  return item instanceof Map ? item : new Map<string, Value>();
}

function sliced(items: Value[], count: number | undefined): Value[] {
  if (count === undefined) return items;
  return count >= 0 ? items.slice(0, count) : items.slice(count);
}

function integer(value: Value | undefined, refusal: string): number | undefined {
  if (value === undefined) return undefined;
  if (isNumber(value) && Number.isInteger(toNumber(value))) return toNumber(value);
  throw badValue(`${refusal}: ${typeName(value)}`);
}

function compileAddToSet(operand: Value, { options: { collation } }: OperandSite): Change {
  const added = addedToSet(operand);
  return ({ present, name }) => {
    if (present !== undefined && !Array.isArray(present)) {
      throw badValue(
        `Cannot apply $addToSet to non-array field. Field named '${name}' has non-array type ${typeName(present)}`,
      );
    }
    const items = [...(present ?? [])];
    for (const value of added) if (!items.some((item) => equalValues(item, value, collation))) items.push(value);
    return items;
  };
}

function addedToSet(operand: Value): Value[] {
  const [first] = operand instanceof Map ? operand : [];
  if (first?.[0] !== '$each') return [operand];
  const [, each] = first;
  if (!Array.isArray(each))
    throw typeMismatch(`The argument to $each in $addToSet must be an array but it was of type ${typeName(each)}`);
  if (operand instanceof Map && operand.size > 1)
    throw badValue(`Found unexpected fields after $each in $addToSet: ${valueText(operand)}`);
  return each;
}

function compilePop(operand: Value, { path }: OperandSite): Change {
  if (!isNumber(operand)) throw failedToParse(`Expected a number in: ${path}: ${valueText(operand)}`);
  const end = toNumber(operand);
  if (!Number.isInteger(end))
    throw failedToParse(
      `Expected an integer${Number.isNaN(end) ? ', but found NaN in' : ''}: ${path}: ${valueText(operand)}`,
    );
  if (end !== 1 && end !== -1) throw failedToParse(`$pop expects 1 or -1, found: ${end}`);
  return ({ present, path: reached }) => {
    if (present === undefined) return undefined;
    if (!Array.isArray(present))
      throw typeMismatch(`Path '${reached}' contains an element of non-array type '${typeName(present)}'`);
    return end === 1 ? present.slice(0, -1) : present.slice(1);
  };
}

/** What `$pull` removes: by operators, by a query on embedded documents, or by equality. */
function pullTest(operand: Value, { collation, context }: UpdateOptions): (item: Value) => boolean {
  if (operand instanceof Map) {
    if (isElementCondition(operand)) return compileValueMatcher(operand, collation, context);
    const matches = compileMatcher(operand, collation, context);
    return (item) => item instanceof Map && matches(item);
  }
  return typeof operand === 'object' && operand !== null && '_bsontype' in operand && operand._bsontype === 'BSONRegExp'
    ? compileValueMatcher(new Map([['$regex', operand]]), collation)
    : (item) => equalValues(item, operand, collation);
}
