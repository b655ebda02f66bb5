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
import { decodeDocument } from '../src/bson/decode.js';
import { longValue } from '../src/bson/exact-number.js';
import { DateTime, type Doc, RawDocument, UndefinedValue, type Value } from '../src/bson/value.js';

const OLD_BINARY_SUBTYPE = 2;
const INNER_LENGTH_BYTES = 4;

type JsonObject = Record<string, unknown>;

/**
 * Reads extended JSON (canonical or relaxed) as `JSON.parse` returns it. Plain numbers become int or double. Fields
 * keep their order, except array indexes, which JavaScript puts first.
 */
export function fromExtendedJson(json: unknown): Value {
  if (json === null || typeof json === 'string' || typeof json === 'boolean') return json;
  if (typeof json === 'number')
    return Number.isInteger(json) && Math.abs(json) < 2 ** 31 ? new Int32(json) : new Double(json);
  if (Array.isArray(json)) return json.map(fromExtendedJson);
  const object = json as JsonObject;
  const [first] = Object.keys(object);
  const read = first?.startsWith('$') === true ? readers[first] : undefined;
  const value = read?.(object);
  return value === undefined ? documentOf(object) : value;
}

function documentOf(object: JsonObject): Doc {
  return new Map(Object.entries(object).map(([name, value]) => [name, fromExtendedJson(value)]));
}

const readers: Record<string, (object: JsonObject) => Value | undefined> = {
  $numberInt: (object) => only(object, (text) => new Int32(Number(text))),
  $numberLong: (object) => only(object, (text) => Long.fromString(text)),
  $numberDouble: (object) => only(object, (text) => new Double(Number(text))),
  $numberDecimal: (object) => only(object, (text) => Decimal128.fromString(text)),
  $oid: (object) => only(object, (text) => new ObjectId(text)),
  $symbol: (object) => only(object, (text) => new BSONSymbol(text)),
  $undefined: () => UndefinedValue.instance,
  $minKey: () => new MinKey(),
  $maxKey: () => new MaxKey(),
  $date: readDate,
  $timestamp: ({ $timestamp }) => new Timestamp($timestamp as { t: number; i: number }),
  $binary: readBinary,
  $regularExpression: ({ $regularExpression }) => {
    const { pattern, options } = $regularExpression as { pattern: string; options: string };
    return new BSONRegExp(pattern, options);
  },
  $code: ({ $code, $scope }) =>
    new Code($code as string, $scope === undefined ? null : documentOf($scope as JsonObject)),
  $dbPointer: ({ $dbPointer }) => {
    const { $ref, $id } = $dbPointer as { $ref: string; $id: { $oid: string } };
    return new DBRef($ref, new ObjectId($id.$oid));
  },
};

/** Reads `{$name: "text"}`; anything else under that name is an ordinary document. */
function only(object: JsonObject, read: (text: string) => Value): Value | undefined {
  const [text, ...others] = Object.values(object);
  return typeof text === 'string' && others.length === 0 ? read(text) : undefined;
}

function readDate({ $date }: JsonObject): Value | undefined {
  if (typeof $date === 'string') return new DateTime(BigInt(Date.parse($date)));
  return $date === null || typeof $date !== 'object'
    ? undefined
    : new DateTime(BigInt(object($date).$numberLong as string));
}

function readBinary({ $binary }: JsonObject): Value {
  const { base64, subType } = object($binary);
  const data = Buffer.from(base64 as string, 'base64');
  const subtype = parseInt(subType as string, 16);
  return new Binary(subtype === OLD_BINARY_SUBTYPE ? withInnerLength(data) : data, subtype);
}

/** The old binary subtype 2 repeats its length inside its data; extended JSON leaves that out. */
function withInnerLength(data: Buffer): Buffer {
  const head = Buffer.alloc(INNER_LENGTH_BYTES);
  head.writeInt32LE(data.length, 0);
  return Buffer.concat([head, data]);
}

function writeBinary(value: Binary): unknown {
  const from = value.sub_type === OLD_BINARY_SUBTYPE ? INNER_LENGTH_BYTES : 0;
  const base64 = Buffer.from(value.buffer.subarray(from, value.position)).toString('base64');
  return { $binary: { base64, subType: value.sub_type.toString(16).padStart(2, '0') } };
}

function object(json: unknown): JsonObject {
  return json as JsonObject;
}

/** Writes canonical extended JSON. */
export function toExtendedJson(value: Value): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (value instanceof Map) return objectOf(value);
  if (value instanceof RawDocument) return objectOf(decodeDocument(value.bytes));
  if (Array.isArray(value)) return value.map(toExtendedJson);
  if (value instanceof DateTime) return { $date: { $numberLong: value.ms.toString() } };
  if (value instanceof UndefinedValue) return { $undefined: true };
  switch (value._bsontype) {
    case 'Int32':
      return { $numberInt: value.value.toString() };
    case 'Long':
      return { $numberLong: longValue(value).toString() };
    case 'Double':
      return { $numberDouble: doubleText(value.value) };
    case 'Decimal128':
      return { $numberDecimal: value.toString() };
    case 'ObjectId':
      return { $oid: value.toHexString() };
    case 'Timestamp':
      return { $timestamp: { t: value.t, i: value.i } };
    case 'Binary':
      return writeBinary(value);
    case 'BSONRegExp':
      return { $regularExpression: { pattern: value.pattern, options: value.options } };
    case 'BSONSymbol':
      return { $symbol: value.value };
    case 'Code':
      return value.scope === null ? { $code: value.code } : { $code: value.code, $scope: objectOf(value.scope as Doc) };
    case 'DBRef':
      return { $dbPointer: { $ref: value.collection, $id: { $oid: value.oid.toHexString() } } };
    case 'MinKey':
      return { $minKey: 1 };
    case 'MaxKey':
      return { $maxKey: 1 };
  }
}

function objectOf(doc: Doc): JsonObject {
  return Object.fromEntries([...doc].map(([name, value]) => [name, toExtendedJson(value)]));
}

function doubleText(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : value.toString();
}
