import { compareValues } from '../../bson/compare.js';
import type { Doc, Value } from '../../bson/value.js';

/** The least (`sign` -1) or greatest (`sign` 1) of two values; documents and arrays are compared field by field. */
export function extremeOf(known: Value, value: Value, sign: -1 | 1): Value {
  if (known instanceof Map && value instanceof Map) return extremeFields(known, value, sign);
  if (Array.isArray(known) && Array.isArray(value)) return extremeItems(known, value, sign);
  return compareValues(value, known) * sign > 0 ? value : known;
}

/** As `extremeOf` for every field; a field that only one document has keeps its value. */
export function extremeFields(known: Doc, values: Doc, sign: -1 | 1): Doc {
  const result = new Map(known);
  for (const [name, value] of values) {
    const before = known.get(name);
    result.set(name, before === undefined ? value : extremeOf(before, value, sign));
  }
  return result;
}

function extremeItems(known: readonly Value[], values: readonly Value[], sign: -1 | 1): Value[] {
  const length = Math.max(known.length, values.length);
  return Array.from({ length }, (_, index) => {
    const before = known[index];
    const value = values[index];
    if (before === undefined || value === undefined) return before ?? value ?? null;
    return extremeOf(before, value, sign);
  });
}
