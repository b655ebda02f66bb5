import { elementType } from './element-type.js';
import { decodeValue, elementsOf, rawValue, type RawValue } from './scan.js';

/**
 * A document decoded so that encoding it again gives the same bytes: Maps keep the order of fields whose names look
 * like numbers, which JavaScript objects do not. For values that have to be part of a command.
 */
export function losslessDocument(bytes: Uint8Array): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const element of elementsOf(bytes)) fields.set(element.name, losslessValue(rawValue(bytes, element)));
  return fields;
}

/** A value decoded so that encoding it again gives the same bytes. */
export function losslessValue(value: RawValue): unknown {
  if (value.type === elementType.document) return losslessDocument(value.bytes);
  if (value.type === elementType.array) return [...elementsOf(value.bytes)].map((element) => losslessValue(rawValue(value.bytes, element)));
  return decodeValue(value);
}
