import { Decimal128, Double, Int32, Long, Timestamp } from 'bson';
import { typeName } from '../bson/type-of.js';
import type { Doc, Value } from '../bson/value.js';
import { CommandError } from './command.js';

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

/** The document, or an empty one for everything else. */
export function docOrEmpty(value: Value | undefined): Doc {
  return value instanceof Map ? value : new Map<string, Value>();
}

/** The text, or an empty one for everything else. */
export function textOrEmpty(value: Value | undefined): string {
  return typeof value === 'string' ? value : '';
}

/**
 * A field of a command that must be a text.
 * @throws CommandError 14 when it is not
 */
export function requiredText(body: Doc, name: string): string {
  const value = body.get(name);
  if (typeof value === 'string') return value;
  const command = body.keys().next().value ?? '';
  throw new CommandError(
    14,
    'TypeMismatch',
    `BSON field '${command}.${name}' is the wrong type '${typeName(value)}', expected type 'string'`,
  );
}
