import { Int32 } from 'bson';
import { addNumbers, divideNumbers } from '../bson/arithmetic.js';
import { isNumber, type NumberValue } from '../bson/exact-number.js';
import { valueText } from '../bson/text.js';
import { typeName } from '../bson/type-of.js';
import { located } from '../query/query-error.js';
import { encodeKeyString } from '../bson/key-string.js';
import type { Doc, Value } from '../bson/value.js';
import { deviationOf, maximumOf, minimumOf } from '../expression/totals.js';

/** Collects the values of one group. */
export interface Accumulator {
  add(value: Value | undefined): void;
  result(): Value;
}

/** A maker of accumulators of a kind, or undefined for an unknown operator. */
export function accumulatorOf(operator: string): (() => Accumulator) | undefined {
  return Object.hasOwn(accumulators, operator) ? accumulators[operator] : undefined;
}

const accumulators: Readonly<Record<string, () => Accumulator>> = {
  $sum: () => folding<NumberValue>(new Int32(0), (sum, value) => (isNumber(value) ? addNumbers(sum, value) : sum)),
  $count: () => folding<NumberValue>(new Int32(0), (count) => addNumbers(count, new Int32(1))),
  $avg: average,
  $min: () => folding<Value>(null, (least, value) => minimumOf([least, value])),
  $max: () => folding<Value>(null, (greatest, value) => maximumOf([greatest, value])),
  $first: first,
  $last: () => folding<Value>(null, (_last, value) => value ?? null),
  $push: push,
  $addToSet: addToSet,
  $mergeObjects: () => folding<Doc>(new Map(), merge),
  $stdDevPop: () => deviation(0),
  $stdDevSamp: () => deviation(1),
};

function folding<T extends Value>(start: T, combine: (known: T, value: Value | undefined) => T): Accumulator {
  let known = start;
  return {
    add: (value) => {
      known = combine(known, value);
    },
    result: () => known,
  };
}

function merge(merged: Doc, value: Value | undefined): Doc {
  if (value instanceof Map) return new Map([...merged, ...value]);
  if (value === undefined || value === null) return merged;
  throw located(40400, `$mergeObjects requires object inputs, but input ${valueText(value)} is of type ${typeName(value)}`);
}

function average(): Accumulator {
  let sum: NumberValue = new Int32(0);
  let count = 0;
  return {
    add: (value) => {
      if (!isNumber(value)) return;
      sum = addNumbers(sum, value);
      count += 1;
    },
    result: () => (count === 0 ? null : divideNumbers(sum, new Int32(count))),
  };
}

function first(): Accumulator {
  let found: { value: Value } | undefined;
  return {
    add: (value) => {
      found ??= { value: value ?? null };
    },
    result: () => found?.value ?? null,
  };
}

function push(): Accumulator {
  const values: Value[] = [];
  return {
    add: (value) => {
      if (value !== undefined) values.push(value);
    },
    result: () => values,
  };
}

function addToSet(): Accumulator {
  const values = new Map<string, Value>();
  return {
    add: (value) => {
      if (value === undefined) return;
      const key = encodeKeyString([value]).toString('latin1');
      if (!values.has(key)) values.set(key, value);
    },
    result: () => [...values.values()],
  };
}

/** @param missing 0 for a whole population, 1 for a sample */
function deviation(missing: number): Accumulator {
  const values: Value[] = [];
  return {
    add: (value) => {
      if (isNumber(value)) values.push(value);
    },
    result: () => deviationOf(values, missing),
  };
}
