import { BSONSymbol } from 'bson';
import type { Value } from '../../bson/value.js';
import { comparedAcrossTypes, type Interval, intersection, point } from './value-intervals.js';

type Comparison = '$eq' | '$gt' | '$gte' | '$lt' | '$lte';

/** Each comparison with its sides swapped. */
const turned: Readonly<Record<Comparison, Comparison>> = {
  $eq: '$eq',
  $gt: '$lt',
  $gte: '$lte',
  $lt: '$gt',
  $lte: '$gte',
};

/**
 * What a `$expr` states about fields: comparisons of a field with a constant, alone or under `$and`. They compare
 * across types.
 * @param simple false when strings are compared under a collation
 */
export function expressionBounds(expression: Value, simple: boolean): Map<string, readonly Interval[]> {
  const bounds = new Map<string, readonly Interval[]>();
  collect(expression, simple, bounds);
  return bounds;
}

function collect(expression: Value, simple: boolean, bounds: Map<string, readonly Interval[]>): void {
  if (!(expression instanceof Map) || expression.size !== 1) return;
  for (const [operator, operands] of expression) {
    if (!Array.isArray(operands)) return;
    if (operator === '$and') for (const part of operands) collect(part, simple, bounds);
    else if (isComparison(operator) && operands.length === 2) addComparison(operator, operands, simple, bounds);
  }
}

function addComparison(
  operator: Comparison,
  [left, right]: readonly Value[],
  simple: boolean,
  bounds: Map<string, readonly Interval[]>,
): void {
  const leftField = fieldOf(left);
  const rightField = fieldOf(right);
  const field = leftField ?? rightField;
  const value = constantOf(leftField === undefined ? left : right);
  if (
    field === undefined ||
    value === undefined ||
    (!simple && (typeof value === 'string' || value instanceof BSONSymbol))
  )
    return;
  const meant = leftField === undefined ? turned[operator] : operator;
  const intervals = meant === '$eq' ? [point(value)] : comparedAcrossTypes(meant, value);
  bounds.set(field, intersection(bounds.get(field) ?? intervals, intervals));
}

function isComparison(operator: string): operator is Comparison {
  return operator in turned;
}

function fieldOf(operand: Value | undefined): string | undefined {
  return typeof operand === 'string' && /^\$[^$]/.test(operand) ? operand.slice(1) : undefined;
}

/** A constant that is no document, list or missing value. */
function constantOf(operand: Value | undefined): Value | undefined {
  const literal = operand instanceof Map && operand.size === 1 ? operand.get('$literal') : operand;
  if (literal === undefined || literal === null || literal instanceof Map || Array.isArray(literal)) return undefined;
  return typeof literal === 'string' && literal === operand && literal.startsWith('$') ? undefined : literal;
}
