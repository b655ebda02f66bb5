import { BSONRegExp, Code } from 'bson';
import { decodeDocument } from '../bson/decode.js';
import { valueText } from '../bson/text.js';
import { type Doc, RawDocument, type Value } from '../bson/value.js';
import { CommandError } from '../node/command.js';

/**
 * Whether a shard-key value can bound chunks and zones, and states the shard key of a query (server source:
 * isValidShardKeyElementForStorage): no regular expression, and no field at any depth with a `$` before its name.
 */
export function isStorableKey(value: Value): boolean {
  return !(value instanceof BSONRegExp) && (Array.isArray(value) || isStorable(value));
}

/** @throws CommandError 2 for a bound with a value that is none */
export function refuseUnstorable(bound: Doc): void {
  for (const [field, value] of bound) {
    if (isStorableKey(value)) continue;
    const shown = `${field}: ${valueText(value)}`;
    throw new CommandError(2, 'BadValue', `Shard key element ${shown} is not valid for storage`);
  }
}

function isStorable(value: Value): boolean {
  if (value instanceof RawDocument) return isStorable(decodeDocument(value.bytes));
  if (Array.isArray(value)) return value.every(isStorable);
  if (value instanceof Code) return isStorable((value.scope ?? null) as Value);
  if (!(value instanceof Map)) return true;
  const fields = [...value];
  return fields.slice(referenceLength(fields)).every(([name, inside]) => !name.startsWith('$') && isStorable(inside));
}

function referenceLength([first, second, third]: readonly (readonly [string, Value])[]): number {
  if (first?.[0] !== '$ref' || typeof first[1] !== 'string' || second?.[0] !== '$id') return 0;
  return third?.[0] === '$db' && typeof third[1] === 'string' ? 3 : 2;
}
