import type { Doc, Value } from '../bson/value.js';
import { arrayIndex, splitPath } from '../query/document-path.js';

/** The values that a condition on a path saw: the elements of an array at its end, then the array. */
export function valuesAtPath(document: Doc, path: string): Value[] {
  const values: Value[] = [];
  collect(document, splitPath(path), 0, values);
  return values;
}

function collect(value: Value, path: readonly string[], at: number, values: Value[]): void {
  if (at === path.length) {
    if (Array.isArray(value)) values.push(...value);
    values.push(value);
    return;
  }
  const name = path[at] ?? '';
  if (value instanceof Map) {
    const inner = value.get(name);
    if (inner !== undefined) collect(inner, path, at + 1, values);
  } else if (Array.isArray(value)) {
    const index = arrayIndex(name);
    const element = index === undefined ? undefined : value[index];
    if (element !== undefined) collect(element, path, at + 1, values);
    for (const item of value) if (item instanceof Map) collect(item, path, at, values);
  }
}
