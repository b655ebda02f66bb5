import { BSONRegExp } from 'bson';
import { RawDocument, UndefinedValue, type Doc, type Value } from '../../bson/value.js';

/** What a filter demands of one field, as far as an index can use it. */
export interface FieldBounds {
  /** The field must have one of these values. */
  equals?: readonly Value[];
  lower?: { readonly value: Value; readonly inclusive: boolean };
  upper?: { readonly value: Value; readonly inclusive: boolean };
  /** True when the bounds express all that the filter demands of the field, types aside. */
  exact: boolean;
}

/** The bounds of a filter's top-level conjunction on its fields. */
export function fieldBounds(filter: Doc): Map<string, FieldBounds> {
  const bounds = new Map<string, FieldBounds>();
  collect(filter, bounds);
  return bounds;
}

function collect(filter: Doc, bounds: Map<string, FieldBounds>): void {
  for (const [name, condition] of filter) {
    if (name === '$and' && Array.isArray(condition)) {
      for (const part of condition) if (part instanceof Map) collect(part, bounds);
    } else if (!name.startsWith('$')) {
      const prefixed = name === '_id' ? prefixBounds(condition) : undefined;
      bounds.set(name, merged(bounds.get(name), prefixed ?? conditionBounds(condition)));
    }
  }
}

function merged(a: FieldBounds | undefined, b: FieldBounds): FieldBounds {
  if (a === undefined) return b;
  return { ...a, ...b, exact: false };
}

function conditionBounds(condition: Value): FieldBounds {
  if (!(condition instanceof Map) || !isOperators(condition)) {
    return isPoint(condition) ? { equals: withUndefined([condition]), exact: condition !== null } : { exact: false };
  }
  const bounds: FieldBounds = { exact: true };
  for (const [operator, operand] of condition) addOperator(bounds, operator, operand);
  return bounds;
}

/**
 * The bounds of a regular expression that starts with `^` and plain characters. For `_id` only: an `_id` cannot be a
 * regular expression, which would match too elsewhere.
 */
function prefixBounds(condition: Value): FieldBounds | undefined {
  const given = condition instanceof Map && condition.size === 1 ? condition.get('$regex') : condition;
  const regex = typeof given === 'string' && given !== condition ? new BSONRegExp(given, '') : given;
  if (!(regex instanceof BSONRegExp) || regex.options !== '' || regex.pattern.includes('|')) return undefined;
  const prefix = /^\^((?:[A-Za-z0-9_ \-/:]|\\\.)+)(?![*?+{])/.exec(regex.pattern)?.[1]?.replaceAll('\\.', '.');
  if (prefix === undefined) return undefined;
  const last = prefix.length - 1;
  const end = prefix.slice(0, last) + String.fromCharCode(prefix.charCodeAt(last) + 1);
  return { lower: { value: prefix, inclusive: true }, upper: { value: end, inclusive: false }, exact: false };
}

function addOperator(bounds: FieldBounds, operator: string, operand: Value): void {
  if (operator === '$eq' && isPoint(operand)) bounds.equals = withUndefined([operand]);
  else if (operator === '$in' && Array.isArray(operand) && operand.every(isPoint))
    bounds.equals = withUndefined(operand);
  else if ((operator === '$gte' || operator === '$lte') && operand === null) bounds.equals = withUndefined([null]);
  else if ((operator === '$gt' || operator === '$gte') && isPoint(operand))
    bounds.lower = { value: operand, inclusive: operator === '$gte' };
  else if ((operator === '$lt' || operator === '$lte') && isPoint(operand))
    bounds.upper = { value: operand, inclusive: operator === '$lte' };
  else bounds.exact = false;
}

/** True for `{$gt: 1}`. False for a document that is compared as a whole. */
function isOperators(condition: Doc): boolean {
  const [first] = condition.keys();
  return first?.startsWith('$') === true;
}

/** Null may match undefined too, which has a key of its own. */
function withUndefined(values: readonly Value[]): readonly Value[] {
  return values.includes(null) ? [UndefinedValue.instance, ...values] : values;
}

/** Values with exactly one key in an index. */
function isPoint(value: Value): boolean {
  return !(
    Array.isArray(value) ||
    value instanceof BSONRegExp ||
    value instanceof UndefinedValue ||
    value instanceof RawDocument
  );
}
