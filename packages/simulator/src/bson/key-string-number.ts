import { doubleBits } from './exact-number.js';
import { NumberKeyType } from './key-type.js';
import type { KeyWriter } from './key-writer.js';

/**
 * Relation of a stored double to its decimal, in the lowest bits of a key. `rounded` is the double rounded up to 15
 * digits.
 */
export const Continuation = { none: 0, belowRounded: 1, equalsRounded: 2, aboveRounded: 3 } as const;

const TWO_POW_63 = 2 ** 63;
/** High half of the smallest 64-bit integer. */
const SMALLEST_HIGH = -0x80000000;
const SMALLEST_LONG = -(1n << 63n);
/** Doubles from here up to 1 leave two bits free for the continuation. */
export const TWO_BIT_CONTINUATION_MIN = 2 ** -255;
const TINY_SCALE = 2 ** 256;
const TINY_PREFIX = 1n << 62n;
const INFINITY_BITS = (1n << 64n) - 1n;
/** Integers below are written without BigInt. */
const FAST_INTEGER_MAX = 2 ** 52;

/** Appends an integer of the 64-bit range. */
export function appendInteger(key: KeyWriter, value: number | bigint): void {
  if (typeof value === 'bigint') {
    if (value === SMALLEST_LONG) {
      appendLargeDouble(key, -TWO_POW_63, Continuation.none);
      return;
    }
    appendMagnitude(key, (value < 0n ? -value : value) << 1n, value < 0n);
    return;
  }
  if (value === 0) {
    key.byte(NumberKeyType.zero);
    return;
  }
  const magnitude = Math.abs(value);
  if (magnitude >= FAST_INTEGER_MAX) {
    appendMagnitude(key, BigInt(magnitude) << 1n, value < 0);
    return;
  }
  appendFastMagnitude(key, magnitude * 2, value < 0);
}

/** Appends a 64-bit integer given as its halves. */
export function appendLongHalves(key: KeyWriter, low: number, high: number): void {
  if ((high === 0 && low >= 0) || (high === -1 && low < 0)) {
    appendInteger(key, low);
    return;
  }
  const negative = high < 0;
  if (negative && high === SMALLEST_HIGH && low === 0) {
    appendLargeDouble(key, -TWO_POW_63, Continuation.none);
    return;
  }
  const magnitudeLow = negative ? -low | 0 : low;
  const magnitudeHigh = negative ? ~high + (low === 0 ? 1 : 0) : high;
  appendShiftedHalves(key, magnitudeLow << 1, (magnitudeHigh << 1) | (magnitudeLow >>> 31), negative);
}

/** As `appendMagnitude`, of a magnitude of 33 bits and more. */
function appendShiftedHalves(key: KeyWriter, low: number, high: number, negative: boolean): void {
  const highBytes = high === 0 ? 0 : (39 - Math.clz32(high)) >> 3;
  const count = highBytes + 4;
  key.byte(negative ? NumberKeyType.negativeOneByte - (count - 1) : NumberKeyType.positiveOneByte + (count - 1));
  for (let index = count - 1; index >= 0; index -= 1) {
    const byte = (index >= 4 ? high >>> ((index - 4) * 8) : low >>> (index * 8)) & 0xff;
    key.byte(negative ? ~byte & 0xff : byte);
  }
}

/** Appends an integer magnitude shifted left by one. Its lowest bit marks a fraction that follows. */
export function appendMagnitude(key: KeyWriter, shifted: bigint, negative: boolean): void {
  const count = Math.ceil(shifted.toString(2).length / 8);
  key.byte(negative ? NumberKeyType.negativeOneByte - (count - 1) : NumberKeyType.positiveOneByte + (count - 1));
  for (let index = count - 1; index >= 0; index -= 1) {
    const byte = Number((shifted >> BigInt(index * 8)) & 0xffn);
    key.byte(negative ? ~byte & 0xff : byte);
  }
}

function appendFastMagnitude(key: KeyWriter, shifted: number, negative: boolean): void {
  let count = 1;
  for (let limit = 256; shifted >= limit; limit *= 256) count += 1;
  key.byte(negative ? NumberKeyType.negativeOneByte - (count - 1) : NumberKeyType.positiveOneByte + (count - 1));
  let unit = 256 ** (count - 1);
  for (let index = 0; index < count; index += 1) {
    const byte = Math.floor(shifted / unit) % 256;
    key.byte(negative ? ~byte & 0xff : byte);
    unit /= 256;
  }
}

/** Appends a double. */
export function appendDouble(key: KeyWriter, value: number, continuation: number = Continuation.none): void {
  const magnitude = Math.abs(value);
  if (Number.isNaN(value)) {
    key.byte(NumberKeyType.nan);
    return;
  }
  if (value === 0) {
    key.byte(NumberKeyType.zero);
    return;
  }
  if (magnitude < 1) {
    appendSmallDouble(key, value, continuation);
    return;
  }
  if (magnitude >= TWO_POW_63) {
    appendLargeDouble(key, value, continuation);
    return;
  }
  if (Number.isInteger(value) && continuation === Continuation.none) {
    appendInteger(key, value);
    return;
  }
  appendFractionalDouble(key, value, continuation);
}

/** Appends a double between 1 and 2^63 together with its fraction. */
function appendFractionalDouble(key: KeyWriter, value: number, continuation: number): void {
  const negative = value < 0;
  const magnitude = Math.abs(value);
  const integer = BigInt(Math.floor(magnitude));
  const fractionBytes = Math.floor((64 - (integer << 1n).toString(2).length) / 8);
  key.byte(
    negative ? NumberKeyType.negativeEightBytes + fractionBytes : NumberKeyType.positiveEightBytes - fractionBytes,
  );
  const shifted = BigInt(magnitude * 256 ** fractionBytes) + ((integer + 1n) << BigInt(fractionBytes * 8));
  appendBits(key, shifted | BigInt(continuation), negative);
}

/** Appends a double between 0 and 1. */
export function appendSmallDouble(key: KeyWriter, value: number, continuation: number): void {
  const negative = value < 0;
  const magnitude = Math.abs(value);
  key.byte(negative ? NumberKeyType.negativeSmall : NumberKeyType.positiveSmall);
  if (magnitude >= TWO_BIT_CONTINUATION_MIN) {
    appendBits(key, (doubleBits(magnitude) << 2n) | BigInt(continuation), negative);
    return;
  }
  appendTinyDouble(key, magnitude * TINY_SCALE, continuation, negative);
}

/** Appends a double below 2^-255 that was multiplied by 2^256. */
export function appendTinyDouble(key: KeyWriter, scaled: number, continuation: number, negative: boolean): void {
  const marker = continuation === Continuation.none ? 0n : 1n;
  appendBits(key, ((doubleBits(scaled) << 1n) | marker) + TINY_PREFIX, negative);
}

/** Appends a double of 2^63 and above, or an infinity. The top bit stays free for decimals above every double. */
export function appendLargeDouble(key: KeyWriter, value: number, continuation: number): void {
  const negative = value < 0;
  key.byte(negative ? NumberKeyType.negativeLarge : NumberKeyType.positiveLarge);
  const magnitude = Math.abs(value);
  const marker = continuation === Continuation.none ? 0n : 1n;
  appendBits(
    key,
    magnitude === Infinity ? INFINITY_BITS : BigInt.asUintN(63, doubleBits(magnitude) << 1n) | marker,
    negative,
  );
}

/** Appends 64 bits, inverted for negative numbers. */
export function appendBits(key: KeyWriter, bits: bigint, negative: boolean): void {
  key.uint64(negative ? bits ^ INFINITY_BITS : bits);
}
