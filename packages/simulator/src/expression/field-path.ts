import type { Value } from '../bson/value.js';

/**
 * The value at a path in an expression. Arrays of documents on the way are mapped over. Nested arrays and indexes lead
 * nowhere.
 */
export function fieldPathValue(value: Value | undefined, path: readonly string[], at = 0): Value | undefined {
  if (at === path.length) return value;
  if (value instanceof Map) return fieldPathValue(value.get(path[at] ?? ''), path, at + 1);
  if (!Array.isArray(value)) return undefined;
  const found: Value[] = [];
  for (const item of value) {
    const inner = item instanceof Map ? fieldPathValue(item, path, at) : undefined;
    if (inner !== undefined) found.push(inner);
  }
  return found;
}
