/** The type bytes of the BSON specification. */
export const ElementType = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  boolean: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  dbPointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  codeWithScope: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  int64: 0x12,
  decimal128: 0x13,
  minKey: 0xff,
  maxKey: 0x7f,
} as const;

/**
 * Where the value of an element ends.
 * @param bytes a document
 * @param type the element's type byte
 * @param at first byte of the value
 * @returns index after the value, or -1 for an unknown type
 */
export function valueEnd(bytes: Uint8Array, type: number, at: number): number {
  switch (type) {
    case ElementType.double:
    case ElementType.date:
    case ElementType.timestamp:
    case ElementType.int64:
      return at + 8;
    case ElementType.int32:
      return at + 4;
    case ElementType.boolean:
      return at + 1;
    case ElementType.objectId:
      return at + 12;
    case ElementType.decimal128:
      return at + 16;
    case ElementType.string:
    case ElementType.code:
    case ElementType.symbol:
      return at + 4 + readInt32(bytes, at);
    case ElementType.binary:
      return at + 5 + readInt32(bytes, at);
    case ElementType.document:
    case ElementType.array:
    case ElementType.codeWithScope:
      return at + readInt32(bytes, at);
    case ElementType.dbPointer:
      return at + 4 + readInt32(bytes, at) + 12;
    case ElementType.regex:
      return bytes.indexOf(0, bytes.indexOf(0, at) + 1) + 1;
    case ElementType.null:
    case ElementType.undefined:
    case ElementType.minKey:
    case ElementType.maxKey:
      return at;
    default:
      return -1;
  }
}

/** The little-endian signed 32-bit integer at an index. */
export function readInt32(bytes: Uint8Array, at: number): number {
  return (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24);
}

/** A Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
