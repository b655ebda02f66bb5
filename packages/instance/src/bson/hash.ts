import { hash } from 'node:crypto';
import { canonicalType, elementType } from './element-type.js';
import { integerForHash } from './order.js';
import { bufferOf, elementsOf, int32At, type RawElement, rawValue, type RawValue } from './scan.js';
import { encodeUtf8 } from './utf8.js';

/**
 * The seed of all hashed indexes, which is also what the server hashes at the end of a document: type 0, empty name.
 */
const zero = 0;

/**
 * The hash of a hashed shard key or index: the first 8 bytes of an MD5 over types and values, as an integer. Numbers of
 * all types are hashed as 64-bit integers.
 */
export function hashValue(value: RawValue): bigint {
  const input = new HashInput();
  input.addInt32(zero);
  addValue(input, value, null);
  const { bytes } = input;
  if (bytes.length <= md5BlockBytesMax) return md5Start(bytes);
  return hash('md5', bytes, 'buffer').readBigInt64LE(0);
}

/** Bytes before a plain value in the input: the seed and the type. */
const head_bytes = 8;
const twoTo32 = 2 ** 32;

/** `hashValue` of an element, without allocating for plain short values: it runs for every document. */
export function hashElement(bytes: Uint8Array, element: RawElement, result: Halves): void {
  const length = inputOfPlain(bytes, element);
  if (length > 0) {
    md5StartHalves(length, result);
    return;
  }
  const hash = hashValue(rawValue(bytes, element));
  result.high = Number(hash >> 32n);
  result.low = Number(hash & 0xffff_ffffn);
}

/** Writes the hash input of a plain short value into `md5Input`; returns its length, or 0 for other values. */
function inputOfPlain(bytes: Uint8Array, { type, start, end }: RawElement): number {
  switch (type) {
    case elementType.decimal:
    case elementType.document:
    case elementType.array:
    case elementType.codeWithScope:
      return 0;
    case elementType.int32:
      return inputOfInteger(int32At(bytes, start));
    case elementType.double: {
      const whole = Math.trunc(bufferOf(bytes).readDoubleLE(start));
      return Number.isSafeInteger(whole) ? inputOfInteger(whole) : 0;
    }
    default:
      if (head_bytes + end - start > md5BlockBytesMax) return 0;
      upsertHead(canonicalType(type));
      for (let at = start; at < end; at += 1) md5Input[head_bytes + at - start] = bytes[at] ?? 0;
      return head_bytes + end - start;
  }
}

function inputOfInteger(value: number): number {
  upsertHead(canonicalType(elementType.long));
  putInt32(head_bytes, value | 0);
  putInt32(head_bytes + 4, Math.floor(value / twoTo32));
  return head_bytes + 8;
}

function upsertHead(type: number): void {
  putInt32(0, zero);
  putInt32(4, type);
}

function putInt32(at: number, value: number): void {
  md5Input[at] = value;
  md5Input[at + 1] = value >> 8;
  md5Input[at + 2] = value >> 16;
  md5Input[at + 3] = value >> 24;
}

/** Builds the hash input in a buffer that all values share; large values get their own. */
class HashInput {
  static readonly #shared = Buffer.allocUnsafe(1024);
  #buffer = HashInput.#shared;
  #length = 0;

  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length);
  }

  addInt32(value: number): void {
    this.#reserve(4);
    this.#length = this.#buffer.writeInt32LE(value, this.#length);
  }

  addLong(value: bigint): void {
    this.#reserve(8);
    this.#length = this.#buffer.writeBigInt64LE(value, this.#length);
  }

  /** A name with its terminating zero. */
  addName(name: string): void {
    this.add(encodeUtf8(`${name}\0`));
  }

  add(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#buffer.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(2 * needed);
    larger.set(this.bytes);
    this.#buffer = larger;
  }
}

function addValue(input: HashInput, value: RawValue, name: string | null): void {
  input.addInt32(canonicalType(value.type));
  if (name !== null) input.addName(name);
  switch (value.type) {
    case elementType.int32:
    case elementType.long:
    case elementType.double:
    case elementType.decimal:
      input.addLong(integerForHash(value));
      return;
    case elementType.document:
    case elementType.array:
      addFields(input, value.bytes);
      return;
    case elementType.codeWithScope: {
      const scope = 8 + int32At(value.bytes, 4);
      input.add(value.bytes.subarray(8, scope));
      addFields(input, value.bytes.subarray(scope));
      return;
    }
    default:
      input.add(value.bytes);
  }
}

function addFields(input: HashInput, bytes: Uint8Array): void {
  for (const element of elementsOf(bytes)) addValue(input, rawValue(bytes, element), element.name);
  input.addInt32(zero);
}

/** Longest input that fits into one block of MD5 together with its padding. */
export const md5BlockBytesMax = 55;

/** How far each round's four steps rotate, and the fractions of sines that they add (RFC 1321, 3.4). */
const rotations = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const;
const rotationOfStep = Uint8Array.from({ length: 64 }, (_, step) => rotations[(step >> 4) as 0][(step & 3) as 0]);
const sineOfStep = Int32Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);
const wordOfStep = Uint8Array.from(
  { length: 64 },
  (_, step) => [step, 5 * step + 1, 3 * step + 5, 7 * step].map((word) => word & 15)[step >> 4] ?? 0,
);

const block = new Uint8Array(64);
const view = new DataView(block.buffer);

/** A 64-bit integer as two halves: JavaScript has no cheap one. */
export interface Halves {
  /** Signed. */
  high: number;
  /** Unsigned. */
  low: number;
}

const words = new Int32Array(16);

/**
 * The first 8 bytes of the MD5 of a short input, as one little-endian integer. Every document's hashed shard key needs
 * it, and for such inputs a call of the runtime's function costs several times the hashing.
 * @param input at most `md5BlockBytesMax` bytes
 */
export function md5Start(input: Uint8Array): bigint {
  block.fill(0);
  block.set(input);
  digest(input.length, halves);
  return (BigInt(halves.high) << 32n) | BigInt(halves.low);
}

/** Like `md5Start`, for the first bytes of `md5Input`. */
function md5StartHalves(bytes: number, result: Halves): void {
  block.fill(0, bytes);
  digest(bytes, result);
}

/** The input buffer of `md5StartHalves`; only its first `md5BlockBytesMax` bytes may be used. */
const md5Input: Uint8Array = block;

const halves: Halves = { high: 0, low: 0 };

/** Hashes the block, which holds this many bytes and zeros after them. */
function digest(bytes: number, result: Halves): void {
  block[bytes] = 0x80;
  view.setUint32(56, bytes * 8, true);
  for (let index = 0; index < 16; index += 1) words[index] = view.getInt32(index * 4, true);
  let a = 0x67452301;
  let b = 0xefcdab89 | 0;
  let c = 0x98badcfe | 0;
  let d = 0x10325476;
  for (let step = 0; step < 64; step += 1) {
    const mixed =
      step < 16 ? (b & c) | (~b & d) : step < 32 ? (d & b) | (~d & c) : step < 48 ? b ^ c ^ d : c ^ (b | ~d);
    const sum = (a + mixed + (sineOfStep[step] ?? 0) + (words[wordOfStep[step] ?? 0] ?? 0)) | 0;
    const bits = rotationOfStep[step] ?? 0;
    a = d;
    d = c;
    c = b;
    b = (b + ((sum << bits) | (sum >>> (32 - bits)))) | 0;
  }
  result.low = (a + 0x67452301) >>> 0;
  result.high = (b + 0xefcdab89) | 0;
}
