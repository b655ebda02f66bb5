import { BSON } from 'mongodb';
import { elementType } from './element-type.js';
import { decodeValue, elementsOf, rawValue, type RawValue } from './scan.js';

/** Offset of the type byte in a document with one element: after the document's length. */
const typeOffset = 4;
/** Offset of its value if its name is one letter. */
const valueOffset = 7;

/**
 * Decodes a document so that encoding it again gives the same bytes, for values that become part of a command. Maps
 * keep the order of fields whose names look like numbers; JavaScript objects do not.
 */
export function losslessDocument(bytes: Uint8Array): Map<string, unknown> {
  const fields = new Map<string, unknown>();
  for (const element of elementsOf(bytes)) fields.set(element.name, losslessValue(rawValue(bytes, element)));
  return fields;
}

/** Decodes a value so that encoding it again gives the same bytes. */
export function losslessValue(value: RawValue): unknown {
  if (value.type === elementType.document) return losslessDocument(value.bytes);
  if (value.type === elementType.array)
    return [...elementsOf(value.bytes)].map((element) => losslessValue(rawValue(value.bytes, element)));
  return decodeValue(value);
}

/**
 * Whether `losslessValue` can restore the value: the driver cannot write DBPointers or strings that are not UTF-8.
 * Statements can carry such values, because they are sent as bytes; queries cannot.
 */
export function isLossless(value: RawValue): boolean {
  try {
    const encoded = BSON.serialize(new Map([['v', losslessValue(value)]]));
    return encoded[typeOffset] === value.type && Buffer.compare(encoded.subarray(valueOffset, -1), value.bytes) === 0;
  } catch {
    return false;
  }
}
