import type { Doc, Value } from '../bson/value.js';
import { MutableDocument } from '../expression/mutable-document.js';

/** The names of a dotted path. */
export type Path = readonly string[];

const ARRAY_INDEX = /^(0|[1-9]\d*)$/;

export function splitPath(path: string): Path {
  return path.includes('.') ? path.split('.') : [path];
}

/** The array index a path component stands for, or undefined. */
export function arrayIndex(name: string | undefined): number | undefined {
  return name !== undefined && ARRAY_INDEX.test(name) ? Number(name) : undefined;
}

/**
 * Whether any value that a query path reaches passes a test. Arrays on the way are expanded. A numeric component also
 * means an index: an array that it names is tested itself, not expanded. A path that ends nowhere is tested once with
 * undefined.
 * @param leafArrays whether an array at the end is expanded too; it is tested itself in any case
 */
export function anyAtPath(
  doc: Doc,
  path: Path,
  leafArrays: boolean,
  test: (value: Value | undefined) => boolean,
  at = 0,
): boolean {
  const value = doc.get(path[at] ?? '');
  if (at === path.length - 1) return testLeaf(value, leafArrays, test);
  if (value instanceof Map) return anyAtPath(value, path, leafArrays, test, at + 1);
  if (Array.isArray(value)) return anyInArray(value, path, leafArrays, test, at + 1);
  return test(undefined);
}

function anyInArray(
  items: Value[],
  path: Path,
  leafArrays: boolean,
  test: (value: Value | undefined) => boolean,
  at: number,
): boolean {
  for (const item of items) {
    if (item instanceof Map && anyAtPath(item, path, leafArrays, test, at)) return true;
  }
  const index = arrayIndex(path[at]);
  if (index === undefined || index >= items.length) return false;
  const item = items[index];
  if (at === path.length - 1) return test(item);
  if (item instanceof Map) return anyAtPath(item, path, leafArrays, test, at + 1);
  return Array.isArray(item) && anyInArray(item, path, leafArrays, test, at + 1);
}

function testLeaf(value: Value | undefined, leafArrays: boolean, test: (value: Value | undefined) => boolean): boolean {
  if (leafArrays && Array.isArray(value)) {
    for (const item of value) if (test(item)) return true;
  }
  return test(value);
}

/** The value at a path through documents only; undefined when there is none. */
export function valueAtPath(doc: Doc, path: Path): Value | undefined {
  let value: Value | undefined = doc;
  for (const name of path) {
    if (!(value instanceof Map)) return undefined;
    value = value.get(name);
  }
  return value;
}

/**
 * All values that a stage finds when it follows a path through other documents: the elements of an array at its end,
 * and those of the documents in arrays on its way. A number after an array names one element (server source:
 * visitAllValuesAtPath).
 */
export function valuesAlong(doc: Doc, [name = '', ...rest]: Path): Value[] {
  let value = doc.get(name);
  let left = rest;
  for (let index = arrayIndex(left[0]); index !== undefined && Array.isArray(value); index = arrayIndex(left[0])) {
    value = value[index];
    left = left.slice(1);
  }
  if (left.length === 0) return value === undefined ? [] : Array.isArray(value) ? value : [value];
  const inner = Array.isArray(value) ? value : [value];
  return inner.flatMap((item) => (item instanceof Map ? valuesAlong(item, left) : []));
}

/** Sets a value at a path. Values on the way that are no documents become documents. Fields keep their places. */
export function withValueAt(doc: Doc, [name = '', ...rest]: Path, value: Value): Doc {
  const inner = doc.get(name);
  const changed = new MutableDocument(doc);
  changed.set(
    name,
    rest.length === 0 ? value : withValueAt(inner instanceof Map ? inner : new Map<string, Value>(), rest, value),
  );
  return changed.frozen();
}
