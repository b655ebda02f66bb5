import type { Collation } from '../../bson/collation.js';
import { decodeDocument } from '../../bson/decode.js';
import { hashShardKeyValue } from '../../bson/hash.js';
import { encodeKeyText } from '../../bson/key-string.js';
import { scanPath } from '../../bson/scan.js';
import type { Doc, Value } from '../../bson/value.js';
import { CommandError } from '../../node/command.js';
import { type KeyRow, keyRows } from '../../query/key-rows.js';

/** One field of an index key. */
export interface IndexField {
  readonly path: string;
  readonly descending: boolean;
  readonly hashed: boolean;
}

/** Key parts of one document: one list of values per index entry. */
export type IndexKeyValues = Value[];

/**
 * The values that an index holds for a document: one key for most, several when a field is an array. Missing fields
 * count as null. A sparse index holds no key without any of its fields.
 */
export function keyValuesOf(bytes: Uint8Array, fields: readonly IndexField[], sparse: boolean): IndexKeyValues[] {
  const values: (Value | undefined)[] = [];
  for (const field of fields) {
    const value = scanPath(bytes, field.path);
    if (Array.isArray(value) || (value === undefined && field.path.includes('.')))
      return expand(decodeDocument(bytes), fields, sparse);
    values.push(value);
  }
  return held([values], sparse);
}

/** The memcmp-ordered string of one key. */
export function keyText(
  values: readonly Value[],
  fields: readonly IndexField[],
  collation: Collation | undefined,
): string {
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

function expand(doc: Doc, fields: readonly IndexField[], sparse: boolean): IndexKeyValues[] {
  const paths = fields.map((field) => field.path.split('.'));
  refuseHashedArrays(doc, fields);
  return held(keyRows(doc, paths), sparse);
}

function held(rows: readonly KeyRow[], sparse: boolean): IndexKeyValues[] {
  const kept = sparse ? rows.filter((row) => row.some((value) => value !== undefined)) : rows;
  return kept.map((row) => row.map((value) => value ?? null));
}

function refuseHashedArrays(doc: Doc, fields: readonly IndexField[]): void {
  const hashed = fields.find((field) => field.hashed && meetsArray(doc, field.path.split('.')));
  if (hashed !== undefined) {
    throw new CommandError(
      16766,
      'Location16766',
      `hashed indexes do not currently support array values. Found array at path: ${hashed.path}`,
    );
  }
}

/** True when a field of an index is an array, or lies within one: also an empty one, and one of one element. */
export function isArrayed(bytes: Uint8Array, fields: readonly IndexField[]): boolean {
  return fields.some(({ path }) => {
    const value = scanPath(bytes, path);
    if (value !== undefined || !path.includes('.')) return Array.isArray(value);
    return meetsArray(decodeDocument(bytes), path.split('.'));
  });
}

/** True when an array lies on the way of a path or at its end, even one of one element. */
function meetsArray(doc: Doc, path: readonly string[]): boolean {
  let at: Value | undefined = doc;
  for (const name of path) {
    if (Array.isArray(at)) return true;
    at = at instanceof Map ? at.get(name) : undefined;
  }
  return Array.isArray(at);
}

/** The index value under a collation: strings that the collation considers equal get the same key. */
function collatedValue(value: Value, collation: Collation | undefined): Value {
  if (collation === undefined) return value;
  if (typeof value === 'string') return collation.canonical(value);
  if (Array.isArray(value)) return value.map((element) => collatedValue(element, collation));
  if (value instanceof Map) {
    return new Map([...value].map(([name, inner]) => [name, collatedValue(inner, collation)]));
  }
  return value;
}
