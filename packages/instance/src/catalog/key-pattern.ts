import type { Document } from 'mongodb';

/**
 * The fields of an index or shard key in order, with plain numbers: 1, -1, "hashed", … It is a Map because JavaScript
 * objects put names that look like numbers, such as "2024", first.
 */
export type KeyPattern = ReadonlyMap<string, unknown>;

/** The key of an index specification as the catalog readers return it. */
export function keyOf(index: Document): KeyPattern {
  return index.key as KeyPattern;
}

/** Whether two keys have the same fields with the same values in the same order. */
export function sameKey(a: KeyPattern, b: KeyPattern): boolean {
  return a.size === b.size && isKeyPrefix(a, b);
}

/** Whether a key starts with the fields and values of another, in order. */
export function isKeyPrefix(prefix: KeyPattern, key: KeyPattern): boolean {
  const fields = [...key];
  return [...prefix].every(([field, value], position) => {
    const other = fields[position];
    return other !== undefined && other[0] === field && other[1] === value;
  });
}
