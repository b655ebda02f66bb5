import type { Doc, Value } from '../bson/value.js';

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
 * Whether any value a query path reaches passes a test. Arrays on the way are looked through, and a numeric component
 * also means an index. A path that ends nowhere is tested once with undefined.
 * @param leafArrays whether an array at the end is looked through too; it is tested itself in any case
 */
export function anyAtPath(doc: Doc, path: Path, leafArrays: boolean, test: (value: Value | undefined) => boolean, at = 0): boolean {
  const value = doc.get(path[at] ?? '');
  if (at === path.length - 1) return testLeaf(value, leafArrays, test);
  if (value instanceof Map) return anyAtPath(value, path, leafArrays, test, at + 1);
  if (Array.isArray(value)) return anyInArray(value, path, leafArrays, test, at + 1);
  return test(undefined);
}

function anyInArray(items: Value[], path: Path, leafArrays: boolean, test: (value: Value | undefined) => boolean, at: number): boolean {
  for (const item of items) {
    if (item instanceof Map && anyAtPath(item, path, leafArrays, test, at)) return true;
  }
  const index = arrayIndex(path[at]);
  if (index === undefined || index >= items.length) return false;
  const item = items[index];
  if (at === path.length - 1) return testLeaf(item, leafArrays, test);
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
 * The values an index or sort sees at a path: each element of an array; null where a field is missing,
 * undefined for an empty array.
 */
export function indexedValues(doc: Doc, path: Path): (Value | undefined)[] {
  const values: (Value | undefined)[] = [];
  collectIndexed(doc, path, 0, values);
  return values;
}

function collectIndexed(doc: Doc, path: Path, at: number, values: (Value | undefined)[]): void {
  const value = doc.get(path[at] ?? '');
  if (at === path.length - 1) collectLeaf(value, values);
  else if (value instanceof Map) collectIndexed(value, path, at + 1, values);
  else if (Array.isArray(value)) collectFromArray(value, path, at + 1, values);
  else values.push(null);
}

function collectFromArray(items: Value[], path: Path, at: number, values: (Value | undefined)[]): void {
  const index = arrayIndex(path[at]);
  if (index !== undefined && index < items.length) {
    const item = items[index];
    if (at === path.length - 1) collectLeaf(item, values);
    else if (item instanceof Map) collectIndexed(item, path, at + 1, values);
    else if (Array.isArray(item)) collectFromArray(item, path, at + 1, values);
    else values.push(null);
    return;
  }
  if (items.length === 0) values.push(null);
  for (const item of items) {
    if (item instanceof Map) collectIndexed(item, path, at, values);
    else values.push(null);
  }
}

function collectLeaf(value: Value | undefined, values: (Value | undefined)[]): void {
  if (!Array.isArray(value)) values.push(value ?? null);
  else if (value.length === 0) values.push(undefined);
  else values.push(...value);
}
