import { fromExtendedJson } from '../extended-json.js';
import type { Doc, Value } from '../../src/bson/value.js';

/** A document from plain or extended JSON; whole numbers become ints. */
export function doc(json: Record<string, unknown>): Doc {
  const value = fromExtendedJson(json);
  if (value instanceof Map) return value;
  throw new Error('not a document');
}

/** A value from plain or extended JSON. */
export function value(json: unknown): Value {
  return fromExtendedJson(json);
}
