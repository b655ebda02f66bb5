import { Decimal128, Double, Int32, Long, Timestamp } from 'bson';
import type { Doc, Value } from '../bson/value.js';

/** A number of any type as a JavaScript number; undefined for everything else. */
export function numberOf(value: Value | undefined): number | undefined {
  if (value instanceof Int32 || value instanceof Double) return value.value;
  if (value instanceof Long && !(value instanceof Timestamp)) return value.toNumber();
  if (value instanceof Decimal128) return Number(value.toString());
  return undefined;
}

/** Truth as the server sees it in command options: `true` or a number that is not 0. */
export function isTrue(value: Value | undefined): boolean {
  return value === true || (numberOf(value) ?? 0) !== 0;
}

export function docOf(value: Value | undefined): Doc | undefined {
  return value instanceof Map ? value : undefined;
}

/** A document from its fields in order. */
export function doc(...fields: [string, Value][]): Doc {
  return new Map(fields);
}
