import { Binary, BSONRegExp, Double, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { compareValues } from '../../bson/compare.js';
import { ElementType } from '../../bson/element-type.js';
import { isNumber, toNumber } from '../../bson/exact-number.js';
import { typeOf } from '../../bson/type-of.js';
import { DateTime, type Value } from '../../bson/value.js';

/** One end of an interval. */
interface IntervalEnd {
  readonly value: Value;
  readonly inclusive: boolean;
}

/** Values in the server's order between two ends. */
export interface Interval {
  readonly from: IntervalEnd;
  readonly to: IntervalEnd;
}

const lowest = closed(new MinKey());
const highest = closed(new MaxKey());

/** Every value there is. */
export const allValues: readonly Interval[] = [{ from: lowest, to: highest }];

/** The interval of one value. */
export function point(value: Value): Interval {
  return { from: closed(value), to: closed(value) };
}

/** True when it holds exactly one value. */
export function isPoint({ from, to }: Interval): boolean {
  return from.inclusive && to.inclusive && compareValues(from.value, to.value) === 0;
}

/** The values above or below one, of its type only, as comparison operators of a query. */
export function comparedWith(operator: '$gt' | '$gte' | '$lt' | '$lte', value: Value): Interval[] {
  const end = { value, inclusive: operator === '$gte' || operator === '$lte' };
  if (isNumber(value) && Number.isNaN(toNumber(value))) return end.inclusive ? [point(value)] : [];
  const type = bracket(value);
  return present([
    operator === '$gt' || operator === '$gte' ? { from: end, to: type.to } : { from: type.from, to: end },
  ]);
}

/** The values above or below one, whatever their type, as comparison expressions. */
export function comparedAcrossTypes(operator: '$gt' | '$gte' | '$lt' | '$lte', value: Value): Interval[] {
  const end = { value, inclusive: operator === '$gte' || operator === '$lte' };
  return present([operator === '$gt' || operator === '$gte' ? { from: end, to: highest } : { from: lowest, to: end }]);
}

/** All strings with some prefix. */
export function beginningWith(prefix: string): Interval {
  const last = prefix.length - 1;
  const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
  return { from: closed(prefix), to: prefix === '' ? bracket('').to : { value: end, inclusive: false } };
}

/** The intersection of both lists, each in order and without overlaps. */
export function intersection(a: readonly Interval[], b: readonly Interval[]): Interval[] {
  return present(
    a.flatMap((one) => b.map((other) => ({ from: later(one.from, other.from), to: earlier(one.to, other.to) }))),
  );
}

/** The union of the lists, in order, with overlaps joined. */
export function union(intervals: readonly Interval[]): Interval[] {
  const joined: Interval[] = [];
  for (const interval of [...intervals].sort((a, b) => compareValues(a.from.value, b.from.value))) {
    const last = joined.at(-1);
    if (last === undefined || compareValues(interval.from.value, last.to.value) > 0) joined.push(interval);
    else joined[joined.length - 1] = { from: last.from, to: further(last.to, interval.to) };
  }
  return joined;
}

/** What lies outside of all intervals, which are in order. */
export function complement(intervals: readonly Interval[]): Interval[] {
  const gaps: Interval[] = [];
  let from: IntervalEnd = lowest;
  for (const interval of intervals) {
    gaps.push({ from, to: { value: interval.from.value, inclusive: !interval.from.inclusive } });
    from = { value: interval.to.value, inclusive: !interval.to.inclusive };
  }
  return present([...gaps, { from, to: highest }]);
}

function closed(value: Value): IntervalEnd {
  return { value, inclusive: true };
}

function open(value: Value): IntervalEnd {
  return { value, inclusive: false };
}

function present(intervals: Interval[]): Interval[] {
  return intervals.filter(({ from, to }) => {
    const order = compareValues(from.value, to.value);
    return order < 0 || (order === 0 && from.inclusive && to.inclusive);
  });
}

function later(a: IntervalEnd, b: IntervalEnd): IntervalEnd {
  const order = compareValues(a.value, b.value);
  return order > 0 || (order === 0 && !a.inclusive) ? a : b;
}

function earlier(a: IntervalEnd, b: IntervalEnd): IntervalEnd {
  const order = compareValues(a.value, b.value);
  return order < 0 || (order === 0 && !a.inclusive) ? a : b;
}

function further(a: IntervalEnd, b: IntervalEnd): IntervalEnd {
  const order = compareValues(a.value, b.value);
  return order > 0 || (order === 0 && a.inclusive) ? a : b;
}

const dateMax = 2n ** 63n - 1n;
const timestampMax = 0xffffffff;

/** All values of a value's type: the types' first values in the server's order. */
function bracket(value: Value): Interval {
  switch (typeOf(value)) {
    case ElementType.int32:
    case ElementType.int64:
    case ElementType.double:
    case ElementType.decimal128:
      return { from: closed(new Double(Number.NEGATIVE_INFINITY)), to: closed(new Double(Number.POSITIVE_INFINITY)) };
    case ElementType.string:
    case ElementType.symbol:
      return { from: closed(''), to: open(new Map()) };
    case ElementType.document:
      return { from: closed(new Map()), to: open([]) };
    case ElementType.binary:
      return { from: closed(new Binary(new Uint8Array(0))), to: open(new ObjectId('0'.repeat(24))) };
    case ElementType.objectId:
      return { from: closed(new ObjectId('0'.repeat(24))), to: closed(new ObjectId('f'.repeat(24))) };
    case ElementType.boolean:
      return { from: closed(false), to: closed(true) };
    case ElementType.date:
      return { from: closed(new DateTime(-dateMax - 1n)), to: closed(new DateTime(dateMax)) };
    case ElementType.timestamp:
      return {
        from: closed(new Timestamp({ t: 0, i: 0 })),
        to: closed(new Timestamp({ t: timestampMax, i: timestampMax })),
      };
    case ElementType.null:
      return point(null);
    case ElementType.minKey:
    case ElementType.maxKey:
      return { from: lowest, to: highest };
    default:
      return { from: closed(new BSONRegExp('', '')), to: highest };
  }
}
