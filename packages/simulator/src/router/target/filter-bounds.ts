import { BSONRegExp, BSONSymbol, MaxKey } from 'bson';
import { RawDocument, UndefinedValue, type Doc, type Value } from '../../bson/value.js';
import { isOperatorDocument } from '../../query/operator-document.js';
import { expressionBounds } from './expression-bounds.js';
import {
  allValues,
  beginningWith,
  comparedWith,
  complement,
  type Interval,
  intersection,
  point,
  union,
} from './value-intervals.js';

/**
 * The values that each field can have in documents that match a filter, as index bounds state it. Fields without usable
 * conditions are absent. An empty list means that nothing matches.
 * @param simple false when strings are compared under a collation, so that bounds on them mean nothing
 * @param hashed field of which only hashes are known: a condition other than equality can mean any value
 */
export function filterBounds(filter: Doc, simple: boolean, hashed?: string): Map<string, readonly Interval[]> {
  const bounds = new Map<string, readonly Interval[]>();
  for (const [name, operand] of filter) {
    if (name === '$and') for (const part of documentsIn(operand)) narrowAll(bounds, filterBounds(part, simple, hashed));
    else if (name === '$expr') narrowAll(bounds, expressionBounds(operand, simple));
    else if (!name.startsWith('$'))
      narrow(bounds, name, name === hashed ? hashedBounds(operand, simple) : fieldBounds(operand, simple));
  }
  addAlternatives(bounds, filter.get('$or') ?? [], simple, hashed);
  return bounds;
}

/** Alternatives bound only fields that nothing else bounds: an index is scanned for one or the other. */
function addAlternatives(
  bounds: Map<string, readonly Interval[]>,
  branches: Value,
  simple: boolean,
  hashed: string | undefined,
): void {
  for (const [field, intervals] of anyOf(documentsIn(branches), simple, hashed))
    if (!bounds.has(field)) bounds.set(field, intervals);
}

function documentsIn(operand: Value): Doc[] {
  return Array.isArray(operand) ? operand.filter((part) => part instanceof Map) : [];
}

/** Fields that every branch bounds. */
function anyOf(
  branches: readonly Doc[],
  simple: boolean,
  hashed: string | undefined,
): Map<string, readonly Interval[]> {
  const [first, ...others] = branches.map((branch) => filterBounds(branch, simple, hashed));
  const joined = new Map<string, readonly Interval[]>();
  for (const [field, intervals] of first ?? []) {
    const further = others.map((other) => other.get(field));
    if (further.every((known) => known !== undefined)) joined.set(field, union([...intervals, ...further.flat()]));
  }
  return joined;
}

function narrowAll(bounds: Map<string, readonly Interval[]>, further: ReadonlyMap<string, readonly Interval[]>): void {
  for (const [field, intervals] of further) narrow(bounds, field, intervals);
}

function narrow(
  bounds: Map<string, readonly Interval[]>,
  field: string,
  intervals: readonly Interval[] | undefined,
): void {
  if (intervals === undefined) return;
  const known = bounds.get(field);
  bounds.set(field, known === undefined ? intervals : intersection(known, intervals));
}

function fieldBounds(operand: Value, simple: boolean): readonly Interval[] | undefined {
  if (!(operand instanceof Map) || !isOperatorDocument(operand)) return equalTo(operand, simple);
  let bounds: readonly Interval[] | undefined;
  for (const [operator, value] of operand) {
    const further = operatorBounds(operator, value, simple);
    if (further !== undefined) bounds = bounds === undefined ? further : intersection(bounds, further);
  }
  return bounds;
}

/** Each condition alone is a hash or any value. Contradictory conditions do not show. */
function hashedBounds(operand: Value, simple: boolean): readonly Interval[] | undefined {
  if (operand instanceof BSONRegExp) return undefined;
  if (!(operand instanceof Map) || !isOperatorDocument(operand)) return equalTo(operand, simple);
  const points = new Map(
    [...operand].filter(([operator, value]) => operator === '$eq' || (operator === '$in' && Array.isArray(value))),
  );
  return points.size === 0 ? undefined : fieldBounds(points, simple);
}

function operatorBounds(operator: string, value: Value, simple: boolean): readonly Interval[] | undefined {
  switch (operator) {
    case '$eq':
      // A regular expression means itself here (server source: translateEquality).
      return value instanceof BSONRegExp ? [point(value)] : equalTo(value, simple);
    case '$in':
      return listed(value, simple);
    case '$ne':
      return without(equalTo(value, simple));
    case '$nin':
      return Array.isArray(value) && value.some((item) => item instanceof BSONRegExp)
        ? undefined
        : without(listed(value, simple));
    case '$not':
      return isExactCondition(value) ? without(fieldBounds(value, simple)) : undefined;
    case '$gt':
    case '$gte':
    case '$lt':
    case '$lte':
      if (value === null && operator.endsWith('e')) return [point(UndefinedValue.instance), point(null)];
      return isComparable(value, simple) ? comparedWith(operator, value) : undefined;
    case '$exists':
      return value === false ? [point(null)] : undefined;
    case '$type':
      return value === 'maxKey' ? [point(new MaxKey())] : undefined;
    default:
      return undefined;
  }
}

function listed(values: Value, simple: boolean): readonly Interval[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const each = values.map((value) => equalTo(value, simple));
  return each.every((intervals) => intervals !== undefined) ? union(each.flat()) : undefined;
}

/** True when the bounds of the condition hold only values that it matches, so that it can be negated. */
function isExactCondition(condition: Value): boolean {
  if (!(condition instanceof Map) || condition.size !== 1) return false;
  const [operator] = condition.keys();
  return operator === '$eq' || operator === '$gt' || operator === '$gte' || operator === '$lt' || operator === '$lte';
}

function without(intervals: readonly Interval[] | undefined): readonly Interval[] | undefined {
  return intervals === undefined ? undefined : complement(intervals);
}

/** The bounds of equality. For a regular expression: the strings it can match, and itself. */
function equalTo(value: Value, simple: boolean): readonly Interval[] | undefined {
  if (value instanceof BSONRegExp) return simple ? union([beginningWith(prefixOf(value)), point(value)]) : undefined;
  return isComparable(value, simple) ? [point(value instanceof UndefinedValue ? null : value)] : undefined;
}

/** The plain letters and digits that start every match. */
function prefixOf({ pattern, options }: BSONRegExp): string {
  if (options !== '' || pattern.includes('|')) return '';
  return /^\^([A-Za-z0-9_ \-/:]+)(?![A-Za-z0-9_ \-/:*?+{])/.exec(pattern)?.[1] ?? '';
}

function isComparable(value: Value, simple: boolean): boolean {
  if (Array.isArray(value) || value instanceof RawDocument) return false;
  return simple || !(typeof value === 'string' || value instanceof Map || value instanceof BSONSymbol);
}

/** The bounds of a field. All values when the filter does not narrow it. */
export function intervalsOf(bounds: ReadonlyMap<string, readonly Interval[]>, field: string): readonly Interval[] {
  return bounds.get(field) ?? allValues;
}
