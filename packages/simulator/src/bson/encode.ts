import type { Code } from 'bson';
import { CommandError } from '../node/command.js';
import { NotANumber } from './not-a-number.js';
import { typeOf } from './type-of.js';
import { writeUtf8 } from './utf8.js';
import { type Doc, RawDocument, type Value } from './value.js';

/** Longest text that is written character by character instead of by the UTF-8 encoder. */
const SHORT_TEXT_LENGTH = 24;
/** Initial size of the work buffer, which doubles. Above the size of a full batch the buffer is released. */
const SCRATCH_BYTES = 64 * 1024;
const SCRATCH_KEPT_BYTES_MAX = 20 * 1024 * 1024;
/** Small results share a buffer of this size: a buffer each costs more than the copying. */
const SLAB_BYTES = 64 * 1024;
const SHARED_BYTES_MAX = 4 * 1024;
/** Results of at least this size are handed out without copying. */
const HANDED_OUT_BYTES_MIN = 256 * 1024;
/** Array indexes with cached names. */
const INDEX_NAMES = 1024;
const indexNames = Array.from({ length: INDEX_NAMES }, (_, index) => index.toString());

let scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
let length = 0;
let slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
let slabUsed = 0;

/** Encodes a document. Embedded `RawDocument`s are copied as bytes. */
export function encodeDocument(doc: Doc): Buffer {
  length = 0;
  writeDocument(doc);
  return takeScratch();
}

/** Encodes one value as it stands in BSON after type byte and name. */
export function encodeValue(value: Value): Buffer {
  length = 0;
  writeValue(value);
  return takeScratch();
}

/** Encodes one element: type byte, name, value. */
export function encodeElement(name: string, value: Value): Buffer {
  length = 0;
  writeElement(name, value);
  return takeScratch();
}

function takeScratch(): Buffer {
  if (length >= HANDED_OUT_BYTES_MIN) {
    const written = scratch;
    // Reserves room for another result of the same size, which is likely to follow.
    scratch = Buffer.allocUnsafeSlow(
      length + SCRATCH_BYTES > SCRATCH_KEPT_BYTES_MAX ? SCRATCH_BYTES : length + SCRATCH_BYTES,
    );
    return written.subarray(0, length);
  }
  const result = length < SHARED_BYTES_MAX ? shared(length) : Buffer.allocUnsafeSlow(length);
  scratch.copy(result, 0, 0, length);
  return result;
}

/** Room in the slab. */
function shared(bytes: number): Buffer {
  if (slabUsed + bytes > SLAB_BYTES) {
    slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
    slabUsed = 0;
  }
  slabUsed += bytes;
  return slab.subarray(slabUsed - bytes, slabUsed);
}

function reserve(bytes: number): void {
  if (length + bytes <= scratch.length) return;
  const grown = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, length + bytes));
  scratch.copy(grown, 0, 0, length);
  scratch = grown;
}

function writeInt32(value: number): void {
  reserve(4);
  putInt32(value, length);
  length += 4;
}

/** Stores into reserved space. Plain stores are faster than Buffer's checked method. */
function putInt32(value: number, at: number): void {
  scratch[at] = value;
  scratch[at + 1] = value >> 8;
  scratch[at + 2] = value >> 16;
  scratch[at + 3] = value >> 24;
}

function writeByte(value: number): void {
  reserve(1);
  scratch[length] = value;
  length += 1;
}

function writeBytes(bytes: Uint8Array): void {
  reserve(bytes.length);
  scratch.set(bytes, length);
  length += bytes.length;
}

/** UTF-8 and a closing zero. */
function writeText(text: string): void {
  reserve(text.length * 3 + 1);
  const start = length;
  if (text.length <= SHORT_TEXT_LENGTH) {
    let at = 0;
    while (at < text.length) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) break;
      scratch[start + at] = code;
      at += 1;
    }
    length = at === text.length ? start + at : start + writeUtf8(scratch, text, start);
  } else {
    length = start + writeUtf8(scratch, text, start);
  }
  scratch[length] = 0;
  length += 1;
}

function writeName(name: string): void {
  if (name.includes('\0')) throw new CommandError(9, 'FailedToParse', 'field names may not contain null bytes');
  writeText(name);
}

/** Length prefix, UTF-8 and a closing zero. */
function writeString(text: string): void {
  const start = length;
  writeInt32(0);
  writeText(text);
  putInt32(length - start - 4, start);
}

function writeElement(name: string, value: Value): void {
  writeByte(typeOf(value));
  writeName(name);
  writeValue(value);
}

function writeDocument(doc: Doc): void {
  const start = length;
  writeInt32(0);
  for (const [name, value] of doc) writeElement(name, value);
  closeDocument(start);
}

function writeArray(values: readonly Value[]): void {
  const start = length;
  writeInt32(0);
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? null;
    writeByte(typeOf(value));
    writeText(indexNames[index] ?? index.toString());
    writeValue(value);
  }
  closeDocument(start);
}

function closeDocument(start: number): void {
  writeByte(0);
  putInt32(length - start, start);
}

function writeValue(value: Value): void {
  if (value === null) return;
  if (typeof value === 'string') {
    writeString(value);
    return;
  }
  if (typeof value === 'boolean') {
    writeByte(value ? 1 : 0);
    return;
  }
  if (value instanceof Map) {
    writeDocument(value);
    return;
  }
  if (value instanceof RawDocument) {
    writeBytes(value.bytes);
    return;
  }
  if (Array.isArray(value)) {
    writeArray(value);
    return;
  }
  if (!('_bsontype' in value)) {
    if ('ms' in value) writeInt64(value.ms);
    return;
  }
  switch (value._bsontype) {
    case 'Int32':
      writeInt32(value.valueOf());
      return;
    case 'ObjectId':
      writeBytes(value.id);
      return;
    case 'Double':
      if (value instanceof NotANumber) writeBytes(value.bits);
      else writeDouble(value.valueOf());
      return;
    case 'Long':
      writeInt32(value.low);
      writeInt32(value.high);
      return;
    case 'Timestamp':
      writeInt32(value.i | 0);
      writeInt32(value.t | 0);
      return;
    case 'Decimal128':
      writeBytes(value.bytes);
      return;
    case 'Binary':
      writeInt32(value.position);
      writeByte(value.sub_type);
      writeBytes(value.buffer.subarray(0, value.position));
      return;
    case 'BSONRegExp':
      writeText(value.pattern);
      writeText(value.options);
      return;
    case 'BSONSymbol':
      writeString(value.value);
      return;
    case 'Code':
      writeCode(value);
      return;
    case 'DBRef':
      writeString(value.collection);
      writeBytes(value.oid.id);
      return;
    case 'MinKey':
    case 'MaxKey':
      return;
  }
}

function writeInt64(value: bigint): void {
  reserve(8);
  length = scratch.writeBigInt64LE(value, length);
}

function writeDouble(value: number): void {
  reserve(8);
  length = scratch.writeDoubleLE(value, length);
}

function writeCode(code: Code): void {
  if (code.scope === null) {
    writeString(code.code);
    return;
  }
  const start = length;
  writeInt32(0);
  writeString(code.code);
  writeDocument(code.scope as Doc);
  putInt32(length - start, start);
}
