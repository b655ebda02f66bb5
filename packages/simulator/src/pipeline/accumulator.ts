import { isNumber } from '../bson/exact-number.js';
import { NumberTotal } from '../bson/number-total.js';
import { computedText } from '../bson/computed-text.js';
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
  $sum: () => totalling((total) => total.sum()),
  $avg: () => totalling((total) => total.average()),
  $min: () => folding<Value>(null, (least, value) => minimumOf([least, value])),
  $max: () => folding<Value>(null, (greatest, value) => maximumOf([greatest, value])),
  $first: first,
  $last: () => folding<Value>(null, (_last, value) => value ?? null),
  $push: push,
  $addToSet: addToSet,
  $mergeObjects: () => folding<Doc>(new Map(), merge),
  $stdDevPop: deviation,
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
  throw located(
    40400,
    `$mergeObjects requires object inputs, but input ${computedText(value)} is of type ${typeName(value)}`,
  );
}

function totalling(result: (total: NumberTotal) => Value): Accumulator {
  const total = new NumberTotal();
  return {
    add: (value) => {
      if (isNumber(value)) total.add(value);
    },
    result: () => result(total),
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

function deviation(): Accumulator {
  const values: Value[] = [];
  return {
    add: (value) => {
      if (isNumber(value)) values.push(value);
    },
    result: () => deviationOf(values),
  };
}
