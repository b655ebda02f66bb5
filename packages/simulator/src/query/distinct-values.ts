import type { Collation } from '../bson/collation.js';
import { compareValues } from '../bson/compare.js';
import type { Doc, Value } from '../bson/value.js';
import { arrayIndex, splitPath } from './document-path.js';

/**
 * The distinct values of a field in order, as `distinct` returns them: array elements one by one, nothing for a missing
 * field.
 */
export function distinctValues(documents: Iterable<Doc>, key: string, collation: Collation | undefined): Value[] {
  const path = splitPath(key);
  const values: Value[] = [];
  for (const document of documents) collect(document, path, 0, values);
  return sortedDistinct(values, collation);
}

/** Each of the values once, in order. */
export function sortedDistinct(values: readonly Value[], collation: Collation | undefined): Value[] {
  const sorted = values.toSorted((a, b) => compareValues(a, b, collation));
  return sorted.filter((value, at) => at === 0 || compareValues(value, sorted[at - 1] ?? null, collation) !== 0);
}

function collect(value: Value | undefined, path: readonly string[], at: number, values: Value[]): void {
  if (at === path.length) {
    if (Array.isArray(value)) values.push(...value);
    else if (value !== undefined) values.push(value);
    return;
  }
  const name = path[at] ?? '';
  if (value instanceof Map) collect(value.get(name), path, at + 1, values);
  if (!Array.isArray(value)) return;
  const index = arrayIndex(name);
  if (index !== undefined) collect(value[index], path, at + 1, values);
  for (const item of value) if (item instanceof Map) collect(item, path, at, values);
}
