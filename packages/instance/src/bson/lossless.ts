import { BSON } from 'mongodb';
import { elementType } from './element-type.js';
import { decodeValue, elementsOf, rawValue, type RawValue } from './scan.js';

/** Where the only element of a document has its type: after the document's length. */
const typeOffset = 4;
/** Where its value begins when its name is one letter. */
const valueOffset = 7;

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
  if (value.type === elementType.array)
    return [...elementsOf(value.bytes)].map((element) => losslessValue(rawValue(value.bytes, element)));
  return decodeValue(value);
}

/**
 * Whether `losslessValue` gives the value again: the driver cannot write DBPointers, nor strings that are no UTF-8. Such values
 * can be written in statements, which go out as bytes, but cannot be asked for.
 */
export function isLossless(value: RawValue): boolean {
  try {
    const encoded = BSON.serialize(new Map([['v', losslessValue(value)]]));
    return encoded[typeOffset] === value.type && Buffer.compare(encoded.subarray(valueOffset, -1), value.bytes) === 0;
  } catch {
    return false;
  }
}
