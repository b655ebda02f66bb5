import { toExtendedJson } from '../extended-json.js';
import { RawDocument, type Value } from '../../src/bson/value.js';
import { decodeDocument } from '../../src/bson/decode.js';
import type { Json } from '../conformance/corpus-file.js';

/** Names that JavaScript's objects put before all others, whatever their order was. */
const movedName = /^(?:0|[1-9]\d*)$/;

/**
 * A value in canonical extended JSON with its fields in their order, also those whose names are numbers: `#` stands
 * before these.
 */
export function exactJson(value: Value): Json {
  if (value instanceof RawDocument) return exactJson(decodeDocument(value.bytes));
  if (Array.isArray(value)) return value.map(exactJson);
  if (!(value instanceof Map)) return toExtendedJson(value) as Json;
  return Object.fromEntries(
    [...value].map(([name, inner]) => [movedName.test(name) ? `#${name}` : name, exactJson(inner)]),
  );
}
