import { Int32 } from 'bson';
import { equalValues } from '../../bson/compare.js';
import { computedText } from '../../bson/computed-text.js';
import { isNumber, toNumber } from '../../bson/exact-number.js';
import { typeName } from '../../bson/type-of.js';
import type { Value } from '../../bson/value.js';
import { located } from '../../query/query-error.js';
import { isConstant } from '../constant.js';
import {
  argumentList,
  type Compile,
  type Evaluate,
  fixed,
  namedArguments,
  type OperatorCompiler,
  type OperatorTable,
  ranged,
  searching,
  sequential,
} from '../operator.js';
import { averageOf, deviationOf, maximumOf, minimumOf, sumOf } from '../totals.js';
import { isNullish, isTruthy } from '../truth.js';

/** Operators on arrays and sets, and the accumulators that also work on lists. */
export const arrayOperators: OperatorTable = {
  $size: fixed(1, ([value]) => new Int32(required(value, 17124, '$size').length)),
  $isArray: fixed(1, ([value]) => Array.isArray(value)),
  $arrayElemAt: fixed(2, ([list, index]) => elementAt(list, index)),
  $first: listFunction((values) => values[0]),
  $last: listFunction((values) => values.at(-1)),
  $concatArrays: sequential(concatArrays),
  $slice: ranged(2, 3, slice),
  $in: fixed(2, ([value, list]) =>
    required(list, 40081, '$in').some((item) => value !== undefined && equalValues(item, value)),
  ),
  $indexOfArray: searching(indexOfArray),
  $reverseArray: fixed(1, ([list]) => (isNullish(list) ? null : required(list, 34435, '$reverseArray').toReversed())),
  $range: ranged(2, 3, range),
  $setDifference: fixed(2, ([a, b]) => {
    if (isNullish(a) || isNullish(b)) return null;
    const items = required(a, 17048, '$setDifference');
    const excluded = required(b, 17049, '$setDifference');
    return items.filter((item, index) => !contains(excluded, item) && !contains(items.slice(0, index), item));
  }),
  $setEquals: ranged(2, Number.MAX_SAFE_INTEGER, (lists) => {
    const [first = [], ...others] = lists.map((list) => required(list, 17044, '$setEquals'));
    return others.every((other) => isSubset(first, other) && isSubset(other, first));
  }),
  $setIsSubset: compileSetIsSubset,
  $anyElementTrue: fixed(1, ([list]) => required(list, 17041, '$anyElementTrue').some(isTruthy)),
  $allElementsTrue: fixed(1, ([list]) => required(list, 17040, '$allElementsTrue').every(isTruthy)),
  $zip: compileZip,
  $stdDevPop: overList((values) => deviationOf(values)),
  $sum: overList(sumOf),
  $avg: overList(averageOf),
  $min: overList(minimumOf),
  $max: overList(maximumOf),
};

function required(value: Value | undefined, code: number, name: string): Value[] {
  if (Array.isArray(value)) return value;
  const refusal =
    refusals[code] ?? ((type: string) => `The argument to ${name} must be an array, but was of type: ${type}`);
  throw located(code, refusal(typeName(value), name, value));
}

/** How servers refuse a value that is no array, by code. */
const refusals: Readonly<Record<number, (type: string, name: string, value: Value | undefined) => string>> = {
  17040: (type) => `$allElementsTrue's argument must be an array, but is ${type}`,
  17041: (type) => `$anyElementTrue's argument must be an array, but is ${type}`,
  17042: (type) => `both operands of $setIsSubset must be arrays. Second argument is of type: ${type}`,
  17044: (type) => `All operands of $setEquals must be arrays. One argument is of type: ${type}`,
  17046: (type) => `both operands of $setIsSubset must be arrays. First argument is of type: ${type}`,
  17310: (type) => `both operands of $setIsSubset must be arrays. First argument is of type: ${type}`,
  17048: (type) => `both operands of $setDifference must be arrays. First argument is of type: ${type}`,
  17049: (type) => `both operands of $setDifference must be arrays. Second argument is of type: ${type}`,
  28664: (type) => `$concatArrays only supports arrays, not ${type}`,
  28689: (type, name) =>
    `${name}'s ${name === '$arrayElemAt' ? 'first argument' : 'argument'} must be an array, but is ${type}`,
  28724: (type) => `First argument to $slice must be an array, but is of type: ${type}`,
  40081: (type) => `$in requires an array as a second argument, found: ${type}`,
  40090: (type) => `$indexOfArray requires an array as a first argument, found: ${type}`,
  34468: (_type, _name, value) => `$zip found a non-array expression in input: ${computedText(value)}`,
};

/** A second list that is constant is checked once. The code for an invalid first list then differs. */
function compileSetIsSubset(...[operand, compile, name, context]: Parameters<OperatorCompiler>): Evaluate {
  const code = Array.isArray(operand) && isConstant(operand[1] ?? null) ? 17310 : 17046;
  return fixed(2, ([a, b]) => isSubset(required(a, code, name), required(b, 17042, name)))(
    operand,
    compile,
    name,
    context,
  );
}

function listFunction(apply: (values: Value[]) => Value | undefined): OperatorCompiler {
  return fixed(1, ([value], name) => (isNullish(value) ? null : apply(required(value, 28689, name))));
}

function elementAt(list: Value | undefined, index: Value | undefined): Value | undefined {
  if (isNullish(list) || isNullish(index)) return null;
  if (!isNumber(index))
    throw located(28690, `$arrayElemAt's second argument must be a numeric value, but is ${typeName(index)}`);
  return required(list, 28689, '$arrayElemAt').at(toNumber(index));
}

function concatArrays(lists: Iterable<Value | undefined>): Value {
  const items: Value[] = [];
  for (const list of lists) {
    if (isNullish(list)) return null;
    items.push(...required(list, 28664, '$concatArrays'));
  }
  return items;
}

function slice([list, first, second]: (Value | undefined)[]): Value {
  if (isNullish(list) || isNullish(first) || second === null) return null;
  const items = required(list, 28724, '$slice');
  const position = integer(first, 28725);
  if (second === undefined) return position >= 0 ? items.slice(0, position) : items.slice(position);
  const count = integer(second, 28727);
  if (count <= 0) throw located(28729, `Third argument to $slice must be positive: ${count}`);
  const start = position >= 0 ? position : Math.max(0, items.length + position);
  return items.slice(start, start + count);
}

function integer(value: Value, code: number): number {
  if (isNumber(value) && Number.isInteger(toNumber(value))) return toNumber(value);
  throw located(code, `Argument must be representable as a 32-bit integer, but was of type: ${typeName(value)}`);
}

function indexOfArray(list: Value | undefined, searched: Value | undefined): Value {
  if (isNullish(list)) return null;
  const items = required(list, 40090, '$indexOfArray');
  return new Int32(items.findIndex((item) => searched !== undefined && equalValues(item, searched)));
}

function range([start, end, step]: (Value | undefined)[]): Value {
  const from = bound(start, 34443, 'a starting');
  const to = bound(end, 34445, 'an ending');
  const by = step === undefined ? 1 : bound(step, 34447, 'a step');
  if (by === 0) throw located(34449, '$range requires a non-zero step value');
  const values: Value[] = [];
  for (let value = from; by > 0 ? value < to : value > to; value += by) values.push(new Int32(value));
  return values;
}

/** @param code for a value that is no number; the next one is for a number that is no int */
function bound(value: Value | undefined, code: number, what: string): number {
  const [, role = ''] = what.split(' ');
  if (!isNumber(value))
    throw located(
      code,
      `$range requires a numeric ${role} value, found value of type:${role === 'step' ? '' : ' '}${typeName(value)}`,
    );
  const number = toNumber(value);
  if (number === Math.trunc(number) && Math.abs(number) < INT_LIMIT) return number;
  throw located(
    code + 1,
    `$range requires ${what} value that can be represented as a 32-bit integer, found value: ${computedText(value)}`,
  );
}

const INT_LIMIT = 2 ** 31;

/** Lists side by side: as long as the shortest, or the longest with null for missing elements. */
function compileZip(operand: Value, compile: Compile): Evaluate {
  const parts = namedArguments(operand, '$zip', ['inputs', 'useLongestLength'], ['inputs'], ['defaults']);
  const inputs = parts.get('inputs');
  if (!Array.isArray(inputs) || inputs.length === 0) throw located(34461, 'inputs must be an array of expressions');
  const longest = parts.get('useLongestLength') === true;
  const lists = inputs.map((each) => compile(each));
  return (variables) => {
    const arrays: Value[][] = [];
    for (const list of lists) {
      const value = list(variables);
      if (isNullish(value)) return null;
      arrays.push(required(value, 34468, '$zip'));
    }
    const lengths = arrays.map(({ length }) => length);
    const length = longest ? Math.max(...lengths) : Math.min(...lengths);
    return Array.from({ length }, (_, row) => arrays.map((array) => array[row] ?? null));
  };
}

function contains(list: readonly Value[], value: Value): boolean {
  return list.some((item) => equalValues(item, value));
}

function isSubset(a: readonly Value[], b: readonly Value[]): boolean {
  return a.every((item) => contains(b, item));
}

/** One argument that is an array stands for its elements. */
function overList(apply: (values: readonly (Value | undefined)[]) => Value): OperatorCompiler {
  return (operand, compile) => {
    const evaluated = argumentList(operand).map((each) => compile(each));
    return (variables) => {
      const values = evaluated.map((evaluate) => evaluate(variables));
      const [only] = values;
      return apply(values.length === 1 && Array.isArray(only) ? only : values);
    };
  };
}
