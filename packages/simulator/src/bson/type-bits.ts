/** The server's two-bit codes of number types. */
export const NumberTypeBits = { int: 0, double: 1, long: 2, decimal: 3 } as const;

const NEGATIVE_DOUBLE_ZERO = 0x1e;
const DECIMAL_ZERO = 0x18;
const DECIMAL_ZERO_LOW_BITS = 12;
const DECIMAL_EXPONENT_BITS = 6;
const SHORT_BYTES_MAX = 127;

/**
 * What a key string omits so that 1 and 1.0 are equal: the exact type of each number and string. A resume token carries
 * it next to its key string (`_typeBits`).
 */
export class TypeBits {
  /** Bytes that are all zero may be missing. */
  readonly #bytes: number[] = [];
  #length = 0;
  #anySet = false;

  appendNumber(type: number): void {
    this.#append(type, 2);
  }

  appendNegativeDoubleZero(): void {
    this.#append(NEGATIVE_DOUBLE_ZERO, 5);
  }

  /** @param biasedExponent the decimal's biased exponent */
  appendDecimal(biasedExponent: number): void {
    this.appendNumber(NumberTypeBits.decimal);
    this.#append(biasedExponent & ((1 << DECIMAL_EXPONENT_BITS) - 1), DECIMAL_EXPONENT_BITS);
  }

  /** @param zero biased exponent, plus 12288 for a negative zero */
  appendDecimalZero(zero: number): void {
    this.#append((zero >> DECIMAL_ZERO_LOW_BITS) + DECIMAL_ZERO, 5);
    this.#append(zero & ((1 << DECIMAL_ZERO_LOW_BITS) - 1), DECIMAL_ZERO_LOW_BITS);
  }

  appendStringLike(isSymbol: boolean): void {
    this.#append(isSymbol ? 1 : 0, 1);
  }

  /** The server's encoding. Undefined when every bit is zero, for which the server writes nothing. */
  encode(): Buffer | undefined {
    if (!this.#anySet) return undefined;
    const data = Buffer.alloc((this.#length + 7) >> 3);
    data.set(this.#bytes);
    if (data.length === 1 && (data[0] ?? 0) < 0x80) return data;
    if (data.length <= SHORT_BYTES_MAX) return Buffer.concat([Buffer.of(0x80 | data.length), data]);
    const head = Buffer.alloc(5);
    head[0] = 0x80;
    head.writeUInt32LE(data.length, 1);
    return Buffer.concat([head, data]);
  }

  /** Appends the low `count` bits of a number, the highest of them first. */
  #append(value: number, count: number): void {
    if (value === 0) {
      this.#length += count;
      return;
    }
    for (let bit = count - 1; bit >= 0; bit -= 1) {
      const one = (value >> bit) & 1;
      const index = this.#length >> 3;
      this.#bytes[index] = (this.#bytes[index] ?? 0) | (one << (this.#length & 7));
      this.#length += 1;
      if (one === 1) this.#anySet = true;
    }
  }
}
