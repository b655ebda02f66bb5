import { Binary, BSONRegExp, Code, DBRef, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { CommandError } from '../node/command.js';
import { KeyType, NumberKeyType } from './key-type.js';
import { decodeUtf8 } from './utf8.js';
import { DateTime, type Doc, UndefinedValue, type Value } from './value.js';

const SIGN_BIT = 1n << 63n;
const INT32_MAX = 2 ** 31 - 1;
const LONG_BINARY_BYTES = 0xff;
const doubleView = new DataView(new ArrayBuffer(8));

/**
 * The values of an ascending key string with its end byte. Types that the key omits become int, long or double.
 * @throws CommandError 50811 for missing or unknown bytes
 */
export function decodeKeyString(key: Buffer): Value[] {
  const reader = new KeyReader(key);
  const values: Value[] = [];
  while (!reader.atEnd() && reader.peek() !== KeyType.end) values.push(readValue(reader, reader.byte()));
  return values;
}

class KeyReader {
  #at = 0;

  constructor(private readonly key: Buffer) {}

  atEnd(): boolean {
    return this.#at >= this.key.length;
  }

  peek(): number {
    return this.key[this.#at] ?? 0;
  }

  byte(): number {
    return this.bytes(1)[0] ?? 0;
  }

  bytes(count: number): Buffer {
    const end = this.#at + count;
    if (end > this.key.length) throw corrupt();
    const bytes = this.key.subarray(this.#at, end);
    this.#at = end;
    return bytes;
  }

  /** A text up to its closing zero. FF follows each zero inside it. */
  text(escapesZeros: boolean): string {
    const pieces: string[] = [];
    for (;;) {
      const zero = this.key.indexOf(0, this.#at);
      if (zero === -1) throw corrupt();
      const piece = this.bytes(zero - this.#at);
      pieces.push(decodeUtf8(piece, 0, piece.length));
      this.#at += 1;
      if (!escapesZeros || this.peek() !== 0xff || this.atEnd()) return pieces.join('\0');
      this.#at += 1;
    }
  }
}

function corrupt(): CommandError {
  return new CommandError(50811, 'Location50811', 'KeyString format error: unexpected end or unknown type');
}

function readValue(reader: KeyReader, type: number): Value {
  if (type >= NumberKeyType.nan && type <= NumberKeyType.positiveLarge) return readNumber(reader, type);
  switch (type) {
    case KeyType.string:
      return reader.text(true);
    case KeyType.document:
      return readFields(reader);
    case KeyType.array:
      return readItems(reader);
    case KeyType.binary:
      return readBinary(reader);
    case KeyType.objectId:
      return new ObjectId(reader.bytes(12));
    case KeyType.boolean:
    case KeyType.boolean + 1:
      return type !== KeyType.boolean;
    case KeyType.date:
      return new DateTime(BigInt.asIntN(64, reader.bytes(8).readBigUInt64BE(0) ^ SIGN_BIT));
    case KeyType.timestamp: {
      const bytes = reader.bytes(8);
      return new Timestamp({ t: bytes.readUInt32BE(0), i: bytes.readUInt32BE(4) });
    }
    default:
      return readRareValue(reader, type);
  }
}

function readRareValue(reader: KeyReader, type: number): Value {
  switch (type) {
    case KeyType.minKey:
      return new MinKey();
    case KeyType.maxKey:
      return new MaxKey();
    case KeyType.null:
      return null;
    case KeyType.undefined:
      return UndefinedValue.instance;
    case KeyType.regex:
      return new BSONRegExp(reader.text(false), reader.text(false));
    case KeyType.code:
      return new Code(reader.text(true));
    case KeyType.codeWithScope:
      return new Code(reader.text(true), readFields(reader));
    case KeyType.dbPointer: {
      const name = reader.bytes(reader.bytes(4).readInt32BE(0));
      return new DBRef(decodeUtf8(name, 0, name.length), new ObjectId(reader.bytes(12)));
    }
    default:
      throw corrupt();
  }
}

function readFields(reader: KeyReader): Doc {
  const doc: Doc = new Map();
  while (reader.byte() !== 0) {
    const name = reader.text(false);
    doc.set(name, readValue(reader, reader.byte()));
  }
  return doc;
}

function readItems(reader: KeyReader): Value[] {
  const items: Value[] = [];
  for (let type = reader.byte(); type !== 0; type = reader.byte()) items.push(readValue(reader, type));
  return items;
}

function readBinary(reader: KeyReader): Binary {
  const first = reader.byte();
  const size = first === LONG_BINARY_BYTES ? reader.bytes(4).readUInt32BE(0) : first;
  const subtype = reader.byte();
  return new Binary(Uint8Array.from(reader.bytes(size)), subtype);
}

function readNumber(reader: KeyReader, type: number): Value {
  if (type === NumberKeyType.zero) return new Int32(0);
  if (type === NumberKeyType.nan) return new Double(Number.NaN);
  const negative = type < NumberKeyType.zero;
  if (type === NumberKeyType.negativeSmall || type === NumberKeyType.positiveSmall) return readSmall(reader, negative);
  if (type === NumberKeyType.negativeLarge || type === NumberKeyType.positiveLarge) return readLarge(reader, negative);
  const count = negative ? NumberKeyType.negativeOneByte - type + 1 : type - NumberKeyType.positiveOneByte + 1;
  const shifted = readMagnitude(reader, count, negative);
  if ((shifted & 1n) === 0n) return wholeNumber(negative ? -(shifted >> 1n) : shifted >> 1n);
  const fractionBytes = 8 - count;
  const fraction = readMagnitude(reader, fractionBytes, negative);
  const magnitude = Number(shifted >> 1n) + Number(fraction & ~3n) / 256 ** fractionBytes;
  return new Double(negative ? -magnitude : magnitude);
}

function readMagnitude(reader: KeyReader, count: number, negative: boolean): bigint {
  let value = 0n;
  for (const byte of reader.bytes(count)) value = (value << 8n) | BigInt(negative ? ~byte & 0xff : byte);
  return value;
}

function readSmall(reader: KeyReader, negative: boolean): Value {
  const bits = readMagnitude(reader, 8, negative);
  const magnitude = bits >> 62n === 3n ? doubleOf(bits >> 2n) : doubleOf((bits - (1n << 62n)) >> 1n) * 2 ** -256;
  return new Double(negative ? -magnitude : magnitude);
}

function readLarge(reader: KeyReader, negative: boolean): Value {
  const bits = readMagnitude(reader, 8, negative);
  const magnitude = bits === (1n << 64n) - 1n ? Infinity : doubleOf((bits >> 1n) | (1n << 62n));
  return new Double(negative ? -magnitude : magnitude);
}

function doubleOf(bits: bigint): number {
  doubleView.setBigUint64(0, bits);
  return doubleView.getFloat64(0);
}

function wholeNumber(value: bigint): Value {
  return value <= INT32_MAX && value >= -INT32_MAX - 1 ? new Int32(Number(value)) : Long.fromBigInt(value);
}
