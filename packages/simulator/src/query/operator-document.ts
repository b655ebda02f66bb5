import type { Value } from '../bson/value.js';

/**
 * True for a document that a filter means as conditions, not as a value: its first field is an operator. A reference
 * with both `$ref` and `$id` is a value (server source: isExpressionDocument).
 */
export function isOperatorDocument(value: Value): boolean {
  return beginsWithDollar(value) && !(value.has('$ref') && value.has('$id'));
}

/** The same for a condition on an array's element, where each part of a reference alone is a value too. */
export function isElementCondition(value: Value): boolean {
  return beginsWithDollar(value) && !['$ref', '$id', '$db'].some((name) => value.has(name));
}

function beginsWithDollar(value: Value): value is Map<string, Value> {
  if (!(value instanceof Map)) return false;
  const [first] = value.keys();
  return first?.startsWith('$') === true;
}
