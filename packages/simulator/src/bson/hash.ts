import { hash } from 'node:crypto';
import { type Code, Long } from 'bson';
import { ElementType } from './element-type.js';
import { encodeValue } from './encode.js';
import { decimalFraction, decimalParts, longValue, type NumberValue } from './exact-number.js';
import { decodeDocument } from './decode.js';
import { md5BlockBytesMax, md5Halves, md5HalvesOfWords } from './md5-block.js';
import { isNumberType, typeOf } from './type-of.js';
import { encodeUtf8 } from './utf8.js';
import { type Doc, RawDocument, type Value } from './value.js';

/** The only seed the server uses for hashed indexes. */
const SEED = Buffer.alloc(4);
const TWO_POW_63 = 2 ** 63;
/** The form in which numbers are hashed. */
const NUMBER_RANK = 10;
const TWO_POW_32 = 2 ** 32;
const LONG_MAX = (1n << 63n) - 1n;
const LONG_MIN = -(1n << 63n);

/** The rank of each type in hashes, by the server's own numbers. */
const canonicalTypes = new Map<number, number>([
  [ElementType.minKey, -1],
  [ElementType.undefined, 0],
  [ElementType.null, 5],
  [ElementType.int32, 10],
  [ElementType.double, 10],
  [ElementType.int64, 10],
  [ElementType.decimal128, 10],
  [ElementType.string, 15],
  [ElementType.symbol, 15],
  [ElementType.document, 20],
  [ElementType.array, 25],
  [ElementType.binary, 30],
  [ElementType.objectId, 35],
  [ElementType.boolean, 40],
  [ElementType.date, 45],
  [ElementType.timestamp, 47],
  [ElementType.regex, 50],
  [ElementType.dbPointer, 55],
  [ElementType.code, 60],
  [ElementType.codeWithScope, 65],
  [ElementType.maxKey, 127],
]);

/**
 * The 64-bit hash of a hashed index or shard key: the first half of an MD5 over the value. Numbers are hashed as whole
 * numbers, so 5, 5.0 and 5.5 are equal. A missing field hashes as null.
 */
export function hashShardKeyValue(value: Value): Long {
  const ofNumber = hashPlainNumber(value);
  if (ofNumber !== undefined) return ofNumber;
  const parts: Uint8Array[] = [SEED];
  collect(value, undefined, parts);
  const input = Buffer.concat(parts);
  if (input.length <= md5BlockBytesMax) {
    const { low, high } = md5Halves(input);
    return new Long(low, high);
  }
  const digest = hash('md5', input, 'buffer');
  return new Long(digest.readInt32LE(0), digest.readInt32LE(4));
}

/** Ints, longs and doubles of the safe range need no work buffers: seed, rank and 64 bits are four words. */
function hashPlainNumber(value: Value): Long | undefined {
  if (typeof value !== 'object' || value === null || !('_bsontype' in value)) return undefined;
  if (value._bsontype === 'Long') return hashWords(value.low, value.high);
  if (value._bsontype !== 'Int32' && value._bsontype !== 'Double') return undefined;
  const whole = Math.trunc(value.value);
  if (!Number.isSafeInteger(whole)) return undefined;
  const high = Math.floor(whole / TWO_POW_32);
  return hashWords((whole - high * TWO_POW_32) | 0, high);
}

function hashWords(low: number, high: number): Long {
  const halves = md5HalvesOfWords(0, NUMBER_RANK, low, high);
  return new Long(halves.low, halves.high);
}

function collect(value: Value, name: string | undefined, parts: Uint8Array[]): void {
  const type = typeOf(value);
  const head = Buffer.allocUnsafe(4);
  head.writeInt32LE(canonicalTypes.get(type) ?? 0, 0);
  parts.push(head);
  if (name !== undefined) parts.push(encodeUtf8(`${name}\0`));
  if (isNumberType(type)) parts.push(int64Bytes(wholeNumber(value as NumberValue)));
  else if (type === ElementType.document)
    collectFields(value instanceof RawDocument ? decodeDocument(value.bytes) : (value as Doc), parts);
  else if (type === ElementType.array) collectFields((value as Value[]).entries(), parts);
  else if (type === ElementType.codeWithScope) {
    parts.push(encodeUtf8(`${(value as Code).code}\0`));
    collectFields((value as Code).scope as Doc, parts);
  } else parts.push(encodeValue(value));
}

/** The fields, and the zero that ends every document. */
function collectFields(fields: Iterable<[string | number, Value]>, parts: Uint8Array[]): void {
  for (const [name, value] of fields) collect(value, String(name), parts);
  parts.push(Buffer.alloc(4));
}

function int64Bytes(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64LE(value, 0);
  return bytes;
}

/**
 * Doubles are truncated, decimals rounded half to even, both limited to 64 bits. 2^63 as a double overflows, as on the
 * server.
 */
function wholeNumber(value: NumberValue): bigint {
  switch (value._bsontype) {
    case 'Int32':
      return BigInt(value.value);
    case 'Long':
      return longValue(value);
    case 'Double': {
      const number = value.value;
      if (Number.isNaN(number)) return 0n;
      if (number === TWO_POW_63) return LONG_MIN;
      return limited(number === Infinity ? LONG_MAX : number === -Infinity ? LONG_MIN : BigInt(Math.trunc(number)));
    }
    case 'Decimal128': {
      const parts = decimalParts(value);
      if (parts.kind === 'nan') return 0n;
      if (parts.kind === 'infinity') return parts.negative ? LONG_MIN : LONG_MAX;
      const { numerator, denominator } = decimalFraction(parts);
      const rounded = roundedHalfEven(numerator, denominator);
      return limited(parts.negative ? -rounded : rounded);
    }
  }
}

function roundedHalfEven(numerator: bigint, denominator: bigint): bigint {
  const whole = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const up = twice > denominator || (twice === denominator && whole % 2n === 1n);
  return up ? whole + 1n : whole;
}

function limited(value: bigint): bigint {
  return value > LONG_MAX ? LONG_MAX : value < LONG_MIN ? LONG_MIN : value;
}
