import { BSONRegExp } from 'bson';
import { compareValues, equalValues } from '../bson/compare.js';
import type { Doc, Value } from '../bson/value.js';
import { isOperatorDocument } from './matcher.js';

/** What a filter states about one field: listed values, or a range. An absent bound is open. */
export interface FieldBounds {
  /** The only values the field can have; from equality or `$in`. */
  values?: Value[];
  lower?: Bound;
  upper?: Bound;
}

/** One end of a range. */
interface Bound {
  value: Value;
  inclusive: boolean;
}

/**
 * The fields that a filter fixes by equality, for targeting and upserts: `{a: 1}`, `{a: {$eq: 1}}`, `$in` and `$or` of
 * one, and these inside `$and`. Regular expressions fix nothing.
 */
export function equalityFields(filter: Doc): Map<string, Value> {
  const fields = new Map<string, Value>();
  collectEqualities(filter, fields);
  return fields;
}

/** What a filter states about `_id`. @returns undefined when nothing narrows a scan */
export function idBounds(filter: Doc): FieldBounds | undefined {
  return fieldBounds(filter, '_id');
}

/** As `idBounds`, for any field without arrays. Combines several conditions. */
export function fieldBounds(filter: Doc, field: string): FieldBounds | undefined {
  const bounds: FieldBounds = {};
  narrow(bounds, filter, field);
  return bounds.values === undefined && bounds.lower === undefined && bounds.upper === undefined ? undefined : bounds;
}

function collectEqualities(filter: Doc, fields: Map<string, Value>): void {
  for (const [name, operand] of filter) {
    if (name === '$and' || (name === '$or' && Array.isArray(operand) && operand.length === 1)) {
      for (const part of Array.isArray(operand) ? operand : [])
        if (part instanceof Map) collectEqualities(part, fields);
    } else if (!name.startsWith('$')) {
      const value = equalityValue(operand);
      if (value !== undefined) fields.set(name, value);
    }
  }
}

function equalityValue(operand: Value): Value | undefined {
  if (operand instanceof BSONRegExp) return undefined;
  if (!(operand instanceof Map) || !isOperatorDocument(operand)) return operand;
  const equal = operand.get('$eq');
  if (equal !== undefined) return equal;
  const list = operand.get('$in') ?? operand.get('$all');
  const only = Array.isArray(list) && list.length === 1 ? list[0] : undefined;
  return only instanceof BSONRegExp || isOperatorDocument(only ?? null) ? undefined : only;
}

function narrow(bounds: FieldBounds, filter: Doc, field: string): void {
  for (const [name, operand] of filter) {
    if (name === '$and' && Array.isArray(operand)) {
      for (const part of operand) if (part instanceof Map) narrow(bounds, part, field);
    } else if (name === field) {
      narrowByOperand(bounds, operand);
    }
  }
}

function narrowByOperand(bounds: FieldBounds, operand: Value): void {
  if (operand instanceof BSONRegExp) return;
  if (!(operand instanceof Map) || !isOperatorDocument(operand)) {
    narrowToValues(bounds, [operand]);
    return;
  }
  for (const [operator, value] of operand) narrowByOperator(bounds, operator, value);
}

function narrowByOperator(bounds: FieldBounds, operator: string, value: Value): void {
  switch (operator) {
    case '$eq':
      narrowToValues(bounds, [value]);
      return;
    case '$in':
      if (Array.isArray(value) && !value.some((item) => item instanceof BSONRegExp)) narrowToValues(bounds, value);
      return;
    case '$gt':
    case '$gte':
      bounds.lower = tighter(bounds.lower, { value, inclusive: operator === '$gte' }, 1);
      return;
    case '$lt':
    case '$lte':
      bounds.upper = tighter(bounds.upper, { value, inclusive: operator === '$lte' }, -1);
      return;
    default:
  }
}

function narrowToValues(bounds: FieldBounds, values: Value[]): void {
  const known = bounds.values;
  bounds.values =
    known === undefined ? values : known.filter((value) => values.some((other) => equalValues(value, other)));
}

function tighter(known: Bound | undefined, bound: Bound, sign: number): Bound {
  if (known === undefined) return bound;
  const order = compareValues(bound.value, known.value) * sign;
  return order > 0 || (order === 0 && !bound.inclusive) ? bound : known;
}
