import type { Collation } from '../../bson/collation.js';
import type { Value } from '../../bson/value.js';

/** The index value under a collation: strings that the collation considers equal get the same key. */
export function collatedValue(value: Value, collation: Collation | undefined): Value {
  if (collation === undefined) return value;
  if (typeof value === 'string') return collation.canonical(value);
  if (Array.isArray(value)) return value.map((element) => collatedValue(element, collation));
  if (value instanceof Map) {
    return new Map([...value].map(([name, inner]) => [name, collatedValue(inner, collation)]));
  }
  return value;
}
