import type { TypeBits } from './type-bits.js';
import { writeUtf8 } from './utf8.js';

const START_BYTES = 1024;
/** A buffer that a huge key has grown is not reused. */
const KEPT_BYTES_MAX = 1024 * 1024;

/** A growing buffer for one key string after another. */
export class KeyWriter {
  length = 0;
  typeBits: TypeBits | undefined;
  #buffer = Buffer.allocUnsafeSlow(START_BYTES);

  reset(typeBits?: TypeBits): void {
    this.length = 0;
    this.typeBits = typeBits;
  }

  /** A copy of what was written. */
  take(): Buffer {
    const key = Buffer.allocUnsafe(this.length);
    this.#buffer.copy(key, 0, 0, this.length);
    if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = Buffer.allocUnsafeSlow(START_BYTES);
    return key;
  }

  /** What was written as a string of one character per byte. */
  takeText(): string {
    const key = shortText(this.#buffer, this.length) ?? this.#buffer.toString('latin1', 0, this.length);
    if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = Buffer.allocUnsafeSlow(START_BYTES);
    return key;
  }

  /** What was written in upper-case hex. */
  takeHex(): string {
    const hex = this.#buffer.toString('hex', 0, this.length).toUpperCase();
    if (this.#buffer.length > KEPT_BYTES_MAX) this.#buffer = Buffer.allocUnsafeSlow(START_BYTES);
    return hex;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.length] = value;
    this.length += 1;
  }

  bytes(values: Uint8Array): void {
    this.#reserve(values.length);
    this.#buffer.set(values, this.length);
    this.length += values.length;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.length = this.#buffer.writeUInt32BE(value, this.length);
  }

  uint64(value: bigint): void {
    this.#reserve(8);
    this.length = this.#buffer.writeBigUInt64BE(value, this.length);
  }

  /** A field name or another text that holds no zero byte, and a closing zero. */
  name(value: string): void {
    this.#utf8(value);
    this.byte(0);
  }

  /** A text in which zero bytes are followed by FF, and a closing zero. */
  text(value: string): void {
    let from = 0;
    for (let zero = value.indexOf('\0'); zero !== -1; zero = value.indexOf('\0', from)) {
      this.#utf8(value.slice(from, zero));
      this.byte(0);
      this.byte(0xff);
      from = zero + 1;
    }
    this.#utf8(from === 0 ? value : value.slice(from));
    this.byte(0);
  }

  /** Inverts every bit written since `start`. */
  invertFrom(start: number): void {
    for (let at = start; at < this.length; at += 1) this.#buffer[at] = ~(this.#buffer[at] ?? 0);
  }

  #utf8(value: string): void {
    this.#reserve(value.length * 3);
    this.length += writeUtf8(this.#buffer, value, this.length);
  }

  #reserve(bytes: number): void {
    if (this.length + bytes <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, this.length + bytes));
    this.#buffer.copy(grown, 0, 0, this.length);
    this.#buffer = grown;
  }
}

/** A text of two to five bytes, the size of integer keys. For these a call out of JavaScript dominates the cost. */
function shortText(bytes: Buffer, length: number): string | undefined {
  const byte = (at: number): number => bytes[at] as number;
  switch (length) {
    case 2:
      return String.fromCharCode(byte(0), byte(1));
    case 3:
      return String.fromCharCode(byte(0), byte(1), byte(2));
    case 4:
      return String.fromCharCode(byte(0), byte(1), byte(2), byte(3));
    case 5:
      return String.fromCharCode(byte(0), byte(1), byte(2), byte(3), byte(4));
    default:
      return undefined;
  }
}
