import type { Binary, BSONRegExp, Code, DBRef, Decimal128, Long, ObjectId, Timestamp } from 'bson';
import { decodeDocument } from './decode.js';
import { ElementType } from './element-type.js';
import { appendDecimal } from './key-string-decimal.js';
import { appendDouble, appendInteger, appendLongHalves } from './key-string-number.js';
import { KeyType } from './key-type.js';
import { KeyWriter } from './key-writer.js';
import { NumberTypeBits, type TypeBits } from './type-bits.js';
import { typeOf } from './type-of.js';
import { encodeUtf8 } from './utf8.js';
import { type DateTime, type Doc, RawDocument, type Value } from './value.js';

const SIGN_BIT = 1n << 63n;
/** Sizes of binary data from here on take four more bytes. */
const LONG_BINARY_BYTES = 0xff;

const writer = new KeyWriter();

/**
 * The server's KeyString (version 1) of a list of values: compared byte by byte these keys order as the values do,
 * and the key of the first values of a list is a prefix of the list's key. The end byte `04` is not included.
 * @param descending by position: true inverts that value's bytes
 */
export function encodeKeyString(values: readonly Value[], descending?: readonly boolean[]): Buffer {
  writeKey(values, descending);
  return writer.take();
}

/** The same as text of one character per byte, which compares as the bytes do. */
export function encodeKeyText(values: readonly Value[], descending?: readonly boolean[]): string {
  writeKey(values, descending);
  return writer.takeText();
}

function writeKey(values: readonly Value[], descending: readonly boolean[] | undefined): void {
  writer.reset();
  for (let index = 0; index < values.length; index += 1) {
    const start = writer.length;
    appendValue(writer, values[index] ?? null);
    if (descending?.[index] === true) writer.invertFrom(start);
  }
}

/** As `encodeKeyString`, with the end byte, in upper-case hex. Also records the types that the key omits. */
export function encodeTypedKeyHex(values: readonly Value[], typeBits: TypeBits): string {
  writer.reset(typeBits);
  for (const value of values) appendValue(writer, value);
  writer.byte(KeyType.end);
  return writer.takeHex();
}

/** The byte that stands for a type before a field's name. */
function genericKeyType(type: number): number {
  return genericKeyTypes[type] ?? 0;
}

const genericKeyTypes = new Uint8Array(256);
genericKeyTypes[ElementType.minKey] = KeyType.minKey;
genericKeyTypes[ElementType.undefined] = KeyType.undefined;
genericKeyTypes[ElementType.null] = KeyType.null;
for (const type of [ElementType.int32, ElementType.double, ElementType.int64, ElementType.decimal128])
  genericKeyTypes[type] = KeyType.number;
genericKeyTypes[ElementType.string] = KeyType.string;
genericKeyTypes[ElementType.symbol] = KeyType.string;
genericKeyTypes[ElementType.document] = KeyType.document;
genericKeyTypes[ElementType.array] = KeyType.array;
genericKeyTypes[ElementType.binary] = KeyType.binary;
genericKeyTypes[ElementType.objectId] = KeyType.objectId;
genericKeyTypes[ElementType.boolean] = KeyType.boolean;
genericKeyTypes[ElementType.date] = KeyType.date;
genericKeyTypes[ElementType.timestamp] = KeyType.timestamp;
genericKeyTypes[ElementType.regex] = KeyType.regex;
genericKeyTypes[ElementType.dbPointer] = KeyType.dbPointer;
genericKeyTypes[ElementType.code] = KeyType.code;
genericKeyTypes[ElementType.codeWithScope] = KeyType.codeWithScope;
genericKeyTypes[ElementType.maxKey] = KeyType.maxKey;

function appendValue(key: KeyWriter, value: Value): void {
  const type = typeOf(value);
  switch (type) {
    case ElementType.string:
    case ElementType.symbol:
      key.typeBits?.appendStringLike(type === ElementType.symbol);
      key.byte(KeyType.string);
      key.text(typeof value === 'string' ? value : (value as { value: string }).value);
      return;
    case ElementType.int32:
      key.typeBits?.appendNumber(NumberTypeBits.int);
      appendInteger(key, (value as { value: number }).value);
      return;
    case ElementType.int64:
      appendLong(key, value as Long);
      return;
    case ElementType.double:
      appendTypedDouble(key, (value as { value: number }).value);
      return;
    case ElementType.decimal128:
      appendDecimal(key, value as Decimal128);
      return;
    case ElementType.objectId:
      key.byte(KeyType.objectId);
      key.bytes((value as ObjectId).id);
      return;
    case ElementType.boolean:
      key.byte(value === true ? KeyType.boolean + 1 : KeyType.boolean);
      return;
    case ElementType.date:
      key.byte(KeyType.date);
      key.uint64(BigInt.asUintN(64, (value as DateTime).ms) ^ SIGN_BIT);
      return;
    case ElementType.document:
      key.byte(KeyType.document);
      appendFields(key, value instanceof RawDocument ? decodeDocument(value.bytes) : (value as Doc));
      return;
    case ElementType.array:
      key.byte(KeyType.array);
      for (const item of value as Value[]) appendValue(key, item);
      key.byte(0);
      return;
    default:
      appendRareValue(key, type, value);
      return;
  }
}

function appendFields(key: KeyWriter, doc: Doc): void {
  for (const [name, value] of doc) {
    key.byte(genericKeyType(typeOf(value)));
    key.name(name);
    appendValue(key, value);
  }
  key.byte(0);
}

function appendLong(key: KeyWriter, value: Long): void {
  key.typeBits?.appendNumber(NumberTypeBits.long);
  appendLongHalves(key, value.low, value.high);
}

function appendTypedDouble(key: KeyWriter, value: number): void {
  if (Object.is(value, -0)) key.typeBits?.appendNegativeDoubleZero();
  else key.typeBits?.appendNumber(NumberTypeBits.double);
  appendDouble(key, value);
}

function appendRareValue(key: KeyWriter, type: number, value: Value): void {
  switch (type) {
    case ElementType.binary:
      appendBinary(key, value as Binary);
      return;
    case ElementType.timestamp:
      key.byte(KeyType.timestamp);
      key.uint32((value as Timestamp).t);
      key.uint32((value as Timestamp).i);
      return;
    case ElementType.regex:
      key.byte(KeyType.regex);
      key.name((value as BSONRegExp).pattern);
      key.name((value as BSONRegExp).options);
      return;
    case ElementType.code:
      key.byte(KeyType.code);
      key.text((value as Code).code);
      return;
    case ElementType.codeWithScope:
      key.byte(KeyType.codeWithScope);
      key.text((value as Code).code);
      appendFields(key, (value as Code).scope as Doc);
      return;
    case ElementType.dbPointer: {
      const name = encodeUtf8((value as DBRef).collection);
      key.byte(KeyType.dbPointer);
      key.uint32(name.length);
      key.bytes(name);
      key.bytes((value as DBRef).oid.id);
      return;
    }
    default:
      key.byte(genericKeyType(type));
  }
}

function appendBinary(key: KeyWriter, value: Binary): void {
  key.byte(KeyType.binary);
  if (value.position < LONG_BINARY_BYTES) key.byte(value.position);
  else {
    key.byte(LONG_BINARY_BYTES);
    key.uint32(value.position);
  }
  key.byte(value.sub_type);
  key.bytes(value.buffer.subarray(0, value.position));
}
