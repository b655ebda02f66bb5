import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DBRef,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';
import { CommandError } from '../node/command.js';
import { asBuffer, ElementType, readInt32, valueEnd } from './element-type.js';
import { canonicalNaN, NotANumber } from './not-a-number.js';
import { decodeUtf8 } from './utf8.js';
import { DateTime, type Doc, UndefinedValue, type Value } from './value.js';

/** Names up to this length are built byte by byte, which is faster than a call of the UTF-8 decoder. */
const SHORT_TEXT_BYTES = 24;
const EMPTY_DOCUMENT_BYTES = 5;

/**
 * Decodes a whole BSON document. `encodeDocument` returns the same bytes.
 * @throws CommandError 22 (InvalidBSON) for bytes that are no document
 */
export function decodeDocument(bytes: Uint8Array): Doc {
  const buffer = asBuffer(bytes);
  const size = buffer.length < EMPTY_DOCUMENT_BYTES ? -1 : readInt32(buffer, 0);
  if (size < EMPTY_DOCUMENT_BYTES || size > buffer.length) throw invalidBson('incorrect BSON length');
  return readDocument(buffer, 0, size);
}

/**
 * Decodes one value.
 * @param type the element's type byte
 * @param at first byte of the value
 */
export function decodeValue(bytes: Uint8Array, type: number, at: number): Value {
  return readValue(asBuffer(bytes), type, at);
}

/** The text of the bytes from `from` to before `to`. */
export function readText(buffer: Buffer, from: number, to: number): string {
  if (to - from > SHORT_TEXT_BYTES) return decodeUtf8(buffer, from, to);
  let text = '';
  for (let at = from; at < to; at += 1) {
    const byte = buffer[at] ?? 0;
    if (byte > 0x7f) return decodeUtf8(buffer, from, to);
    text += String.fromCharCode(byte);
  }
  return text;
}

function invalidBson(reason: string): CommandError {
  return new CommandError(22, 'InvalidBSON', reason);
}

function nameEnd(buffer: Buffer, at: number, limit: number): number {
  let end = at;
  while (end < limit && buffer[end] !== 0) end += 1;
  if (end >= limit) throw invalidBson('field name is not terminated');
  return end;
}

function readDocument(buffer: Buffer, from: number, to: number): Doc {
  const doc: Doc = new Map();
  const limit = to - 1;
  let at = from + 4;
  while (at < limit) {
    const type = buffer[at] ?? 0;
    const end = nameEnd(buffer, at + 1, limit);
    const next = checkedEnd(buffer, type, end + 1, limit);
    doc.set(readText(buffer, at + 1, end), readValue(buffer, type, end + 1));
    at = next;
  }
  if (at !== limit || buffer[limit] !== 0) throw invalidBson('document is not terminated');
  return doc;
}

function readArray(buffer: Buffer, from: number, to: number): Value[] {
  const values: Value[] = [];
  const limit = to - 1;
  let at = from + 4;
  while (at < limit) {
    const type = buffer[at] ?? 0;
    const start = nameEnd(buffer, at + 1, limit) + 1;
    const next = checkedEnd(buffer, type, start, limit);
    values.push(readValue(buffer, type, start));
    at = next;
  }
  if (at !== limit || buffer[limit] !== 0) throw invalidBson('array is not terminated');
  return values;
}

function checkedEnd(buffer: Buffer, type: number, start: number, limit: number): number {
  const end = valueEnd(buffer, type, start);
  if (end < start || end > limit)
    throw invalidBson(end === -1 ? `unrecognized BSON type ${type}` : 'value exceeds its document');
  return end;
}

function readValue(buffer: Buffer, type: number, at: number): Value {
  switch (type) {
    case ElementType.string:
      return readText(buffer, at + 4, at + 3 + readInt32(buffer, at));
    case ElementType.int32:
      return new Int32(readInt32(buffer, at));
    case ElementType.document:
      return readDocument(buffer, at, at + readInt32(buffer, at));
    case ElementType.array:
      return readArray(buffer, at, at + readInt32(buffer, at));
    case ElementType.objectId:
      return new ObjectId(buffer.subarray(at, at + 12));
    case ElementType.double:
      return readDouble(buffer, at);
    case ElementType.int64:
      return new Long(readInt32(buffer, at), readInt32(buffer, at + 4));
    case ElementType.date:
      return new DateTime(buffer.readBigInt64LE(at));
    case ElementType.boolean:
      return buffer[at] !== 0;
    case ElementType.null:
      return null;
    default:
      return readRareValue(buffer, type, at);
  }
}

function readDouble(buffer: Buffer, at: number): Double {
  const value = buffer.readDoubleLE(at);
  if (Number.isNaN(value)) {
    const bits = Uint8Array.from(buffer.subarray(at, at + 8));
    if (Buffer.compare(bits, canonicalNaN) !== 0) return new NotANumber(bits);
  }
  return new Double(value);
}

function readRareValue(buffer: Buffer, type: number, at: number): Value {
  switch (type) {
    case ElementType.binary:
      return new Binary(Uint8Array.from(buffer.subarray(at + 5, at + 5 + readInt32(buffer, at))), buffer[at + 4]);
    case ElementType.timestamp:
      return new Timestamp(new Long(readInt32(buffer, at), readInt32(buffer, at + 4), true));
    case ElementType.decimal128:
      return new Decimal128(Uint8Array.from(buffer.subarray(at, at + 16)));
    case ElementType.regex:
      return readRegex(buffer, at);
    case ElementType.code:
      return new Code(readText(buffer, at + 4, at + 3 + readInt32(buffer, at)));
    case ElementType.symbol:
      return new BSONSymbol(readText(buffer, at + 4, at + 3 + readInt32(buffer, at)));
    case ElementType.codeWithScope: {
      const codeEnd = at + 8 + readInt32(buffer, at + 4);
      return new Code(
        readText(buffer, at + 8, codeEnd - 1),
        readDocument(buffer, codeEnd, codeEnd + readInt32(buffer, codeEnd)),
      );
    }
    case ElementType.dbPointer:
      return readPointer(buffer, at);
    case ElementType.minKey:
      return new MinKey();
    case ElementType.maxKey:
      return new MaxKey();
    case ElementType.undefined:
      return UndefinedValue.instance;
    default:
      throw invalidBson(`unrecognized BSON type ${type}`);
  }
}

function readRegex(buffer: Buffer, at: number): BSONRegExp {
  const patternEnd = buffer.indexOf(0, at);
  const optionsEnd = buffer.indexOf(0, patternEnd + 1);
  const regex = new BSONRegExp(readText(buffer, at, patternEnd));
  regex.options = readText(buffer, patternEnd + 1, optionsEnd);
  return regex;
}

function readPointer(buffer: Buffer, at: number): DBRef {
  const end = at + 4 + readInt32(buffer, at);
  const pointer = new DBRef('', new ObjectId(buffer.subarray(end, end + 12)));
  pointer.collection = readText(buffer, at + 4, end - 1);
  return pointer;
}
