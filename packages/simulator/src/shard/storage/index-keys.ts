import type { Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { hashShardKeyValue } from '../../bson/hash.js';
import { encodeKeyText } from '../../bson/key-string.js';
import { scanPath } from '../../bson/scan.js';
import { UndefinedValue, type Doc, type Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { collatedValue } from './collated-key.js';

/** One field of an index key. */
export interface IndexField {
  readonly path: string;
  readonly descending: boolean;
  readonly hashed: boolean;
}

/** Key parts of one document: one list of values per index entry. */
export type KeyValues = Value[];

/**
 * The values that an index holds for a document: one key for most, several when a field is an array.
 * Missing fields count as null.
 */
export function keyValuesOf(bytes: Uint8Array, fields: readonly IndexField[]): KeyValues[] {
  const values: Value[] = [];
  for (const field of fields) {
    const value = scanPath(bytes, field.path);
    if (value === undefined && field.path.includes('.')) return expand(decodeDocument(bytes), fields);
    if (Array.isArray(value)) return expand(decodeDocument(bytes), fields);
    values.push(value ?? null);
  }
  return [values];
}

/** True when the document has at least one of the fields; a sparse index holds only such documents. */
export function hasAnyField(bytes: Uint8Array, fields: readonly IndexField[]): boolean {
  const doc = decodeDocument(bytes);
  return fields.some((field) => collect(doc, field.path.split('.'), 0).some((value) => value !== undefined));
}

/** The memcmp-ordered string of one key. */
export function keyText(values: readonly Value[], fields: readonly IndexField[], collation: Collation | undefined): string {
  const parts: Value[] = [];
  const descending: boolean[] = [];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] as Value;
    const field = fields[at];
    parts.push(field?.hashed === true ? hashShardKeyValue(value) : collatedValue(value, collation));
    descending.push(field?.descending === true);
  }
  return encodeKeyText(parts, descending);
}

/** The string under which the `_id` index holds a value. */
export function idKeyText(id: Value, collation: Collation | undefined): string {
  return encodeKeyText([collatedValue(id, collation)]);
}

function expand(doc: Doc, fields: readonly IndexField[]): KeyValues[] {
  const columns = fields.map((field) => collect(doc, field.path.split('.'), 0));
  const multikey = fields.flatMap((field, at) => (meetsArray(doc, field.path.split('.')) ? [at] : []));
  const [first, second] = multikey;
  if (first !== undefined && second !== undefined && root(fields, first) !== root(fields, second)) {
    throw new CommandError(171, 'CannotIndexParallelArrays', `cannot index parallel arrays [${root(fields, second)}] [${root(fields, first)}]`);
  }
  refuseHashedArrays(fields, multikey);
  const rows = first === undefined ? 1 : (columns[first] as unknown[]).length;
  const keys: KeyValues[] = [];
  for (let row = 0; row < rows; row += 1) {
    keys.push(columns.map((column) => (column.length === 1 ? column[0] : column[row]) ?? null));
  }
  return keys;
}

function refuseHashedArrays(fields: readonly IndexField[], multikey: readonly number[]): void {
  const hashed = multikey.find((at) => fields[at]?.hashed === true);
  if (hashed !== undefined) {
    throw new CommandError(16766, 'Location16766', `hashed indexes do not currently support array values. Found array at path: ${fields[hashed]?.path ?? ''}`);
  }
}

function root(fields: readonly IndexField[], at: number): string {
  return fields[at]?.path.split('.')[0] ?? '';
}

/** True when an array lies on the way of a path or at its end; also one of one element. */
function meetsArray(doc: Doc, path: readonly string[]): boolean {
  let at: Value | undefined = doc;
  for (const name of path) {
    if (Array.isArray(at)) return true;
    at = at instanceof Map ? at.get(name) : undefined;
  }
  return Array.isArray(at);
}

/** All values at a path; undefined stands for a missing one, and an empty array gives the undefined value. */
function collect(value: Value, path: readonly string[], depth: number): (Value | undefined)[] {
  if (depth === path.length) {
    if (!Array.isArray(value)) return [value];
    return value.length === 0 ? [UndefinedValue.instance] : value;
  }
  const name = path[depth] as string;
  if (value instanceof Map) {
    const inner = value.get(name);
    return inner === undefined ? [undefined] : collect(inner, path, depth + 1);
  }
  if (!Array.isArray(value)) return [undefined];
  if (/^\d+$/.test(name)) {
    const element = value[Number(name)];
    if (element !== undefined) return collect(element, path, depth + 1);
  }
  const found = value.flatMap((element) => (element instanceof Map ? collect(element, path, depth) : []));
  return found.length === 0 ? [undefined] : found;
}
