import { Int32, Long, ObjectId } from 'bson';
import { decodeValue } from '../bson/decode.js';
import { ElementType, valueEnd } from '../bson/element-type.js';
import { encodeValue } from '../bson/encode.js';
import { typeOf } from '../bson/type-of.js';
import { DateTime, type Value } from '../bson/value.js';
import { unsimulated } from '../node/unsimulated.js';

/** The values of one field, in the order of the measurements. Undefined where a measurement lacks the field. */
export type Column = readonly (Value | undefined)[];

/** The subtype of binary values that hold a column. */
export const columnSubtype = 7;

/** Ends a column. */
const end = 0;
/** Up to 16 blocks follow; the low half says how many, less one. */
const blocks = 0x80;
const blocksMax = 16;
const blockBytes = 8;
/** A block with one value of 60 bits: its selector in the low four bits, the value above. */
const oneValue = 0xen;
const selectorBits = 4n;
const valueMax = (1n << 60n) - 1n;
/** The value that stands for none. */
const missing = valueMax;
const above31 = 0x1f;

/**
 * Compresses values as servers do, with one value to a block: a literal first, then the differences of whole numbers,
 * dates and ids, and again a literal where there is no difference that fits. Servers read it, and pack tighter.
 */
export function encodeColumn(values: Column): Buffer {
  const writer = new ColumnWriter();
  for (const value of values) writer.add(value);
  return writer.bytes();
}

/** Counts from the last literal on. */
interface Base {
  readonly type: number;
  readonly id: Buffer | undefined;
  value: bigint;
  /** Of types whose differences are counted, not their values. */
  difference: bigint;
}

/** A column that grows. */
export class ColumnWriter {
  #buffer = Buffer.allocUnsafe(64);
  #length = 0;
  /** Where the number of the last blocks stands. Undefined behind a literal. */
  #control: number | undefined;
  #base: Base | undefined;

  add(value: Value | undefined): void {
    const coded = value === undefined ? missing : this.#difference(value);
    if (coded !== undefined) this.#addBlock(coded);
    else if (value !== undefined) this.#addLiteral(value);
  }

  /** The column of the values so far. */
  bytes(): Buffer {
    const whole = Buffer.alloc(this.#length + 1, end);
    this.#buffer.copy(whole, 0, 0, this.#length);
    return whole;
  }

  #addLiteral(value: Value): void {
    const bytes = encodeValue(value);
    this.#reserve(bytes.length + 2);
    this.#buffer[this.#length] = typeOf(value);
    this.#buffer[this.#length + 1] = 0;
    bytes.copy(this.#buffer, this.#length + 2);
    this.#length += bytes.length + 2;
    this.#control = undefined;
    this.#base = baseOf(value);
  }

  #difference(value: Value): bigint | undefined {
    const base = this.#base;
    const next = baseOf(value);
    if (base === undefined || next?.type !== base.type || !sameProcess(base, next)) return undefined;
    const difference = next.value - base.value;
    const counted = countsDifferences(base.type) ? difference - base.difference : difference;
    const coded = counted >= 0n ? counted << 1n : (-counted << 1n) - 1n;
    if (coded >= missing) return undefined;
    base.value = next.value;
    base.difference = difference;
    return coded;
  }

  #addBlock(value: bigint): void {
    this.#reserve(blockBytes + 1);
    const known = this.#control === undefined ? undefined : this.#buffer[this.#control];
    if (this.#control === undefined || known === (blocks | (blocksMax - 1))) {
      this.#control = this.#length;
      this.#buffer[this.#length] = blocks;
      this.#length += 1;
    } else this.#buffer[this.#control] = (known ?? blocks) + 1;
    this.#buffer.writeBigUInt64LE((value << selectorBits) | oneValue, this.#length);
    this.#length += blockBytes;
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + bytes));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

function baseOf(value: Value): Base | undefined {
  const base = (whole: bigint, id?: Buffer): Base => ({ type: typeOf(value), id, value: whole, difference: 0n });
  if (value instanceof Int32) return base(BigInt(value.value));
  if (value instanceof DateTime) return base(value.ms);
  if (value instanceof ObjectId) return base(wholeOfId(Buffer.from(value.id)), Buffer.from(value.id));
  return typeOf(value) === ElementType.int64 ? base((value as Long).toBigInt()) : undefined;
}

function countsDifferences(type: number): boolean {
  return type === ElementType.objectId || type === ElementType.date;
}

/** Ids of one process differ in time and counter alone. */
function sameProcess({ id: one }: Base, { id: other }: Base): boolean {
  return one === undefined || other === undefined || one.subarray(4, 9).equals(other.subarray(4, 9));
}

/** The bytes of an id that make its number, lowest first: counter and time in turn. */
const idBytes: readonly number[] = [11, 3, 10, 2, 9, 1, 0];

function wholeOfId(id: Buffer): bigint {
  return idBytes.reduce((whole, place, at) => whole | (BigInt(id[place] ?? 0) << BigInt(8 * at)), 0n);
}

function idOfWhole(whole: bigint, like: Buffer): ObjectId {
  const id = Buffer.from(like);
  for (const [at, place] of idBytes.entries()) id[place] = Number((whole >> BigInt(8 * at)) & 0xffn);
  return new ObjectId(id);
}

/**
 * The values of a column.
 * @throws CommandError 115 for one that packs tighter than `encodeColumn`
 */
export function decodeColumn(bytes: Uint8Array): (Value | undefined)[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: (Value | undefined)[] = [];
  let base: Base | undefined;
  let last: Value | undefined;
  for (let at = 0; buffer[at] !== undefined && buffer[at] !== end;) {
    const control = buffer[at] ?? end;
    if (control <= above31 || control === ElementType.minKey || control === ElementType.maxKey) {
      last = decodeValue(buffer, control, at + 2);
      base = baseOf(last);
      values.push(last);
      at = valueEnd(buffer, control, at + 2);
      continue;
    }
    if ((control & 0xf0) !== blocks) throw unsimulated('a column of another writer');
    const count = (control & 0x0f) + 1;
    for (let block = 0; block < count; block += 1) {
      const coded = readBlock(buffer, at + 1 + block * blockBytes);
      values.push(coded === missing ? undefined : expanded(base, last, coded));
    }
    at += 1 + count * blockBytes;
  }
  return values;
}

function readBlock(buffer: Buffer, at: number): bigint {
  const block = buffer.readBigUInt64LE(at);
  if ((block & 0xfn) !== oneValue) throw unsimulated('a column of another writer');
  return block >> selectorBits;
}

/** The value that differs from the one before by a coded difference. */
function expanded(base: Base | undefined, last: Value | undefined, coded: bigint): Value | undefined {
  const counted = (coded & 1n) === 0n ? coded >> 1n : -((coded + 1n) >> 1n);
  if (base === undefined) {
    if (counted === 0n && last !== undefined) return last;
    throw unsimulated('a column of another writer');
  }
  const difference = countsDifferences(base.type) ? base.difference + counted : counted;
  base.value += difference;
  base.difference = difference;
  switch (base.type) {
    case ElementType.int32:
      return new Int32(Number(base.value));
    case ElementType.date:
      return new DateTime(base.value);
    case ElementType.objectId:
      return idOfWhole(base.value, base.id ?? Buffer.alloc(12));
    default:
      return Long.fromBigInt(base.value);
  }
}
