import { hash } from 'node:crypto';
import { canonicalType, elementType } from './element-type.js';
import { type Halves, md5BlockBytesMax, md5Input, md5Start, md5StartHalves } from './md5-block.js';
import { integerForHash } from './number.js';
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
