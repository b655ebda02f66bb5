import type { Decimal128 } from 'bson';
import {
  DECIMAL_DIGITS,
  decimalDigits,
  type DecimalMagnitude,
  doubleNotAbove,
  equalsMagnitude,
  magnitudeFraction,
  normalizedDecimal,
} from './decimal-rounding.js';
import {
  compareFractions,
  DECIMAL_EXPONENT_BIAS,
  decimalFraction,
  type DecimalParts,
  decimalParts,
  doubleFraction,
  type Fraction,
} from './exact-number.js';
import {
  appendBits,
  appendDouble,
  appendLargeDouble,
  appendMagnitude,
  appendSmallDouble,
  appendTinyDouble,
  Continuation,
  TWO_BIT_CONTINUATION_MIN,
} from './key-string-number.js';
import { NumberKeyType } from './key-type.js';
import type { KeyWriter } from './key-writer.js';
import { NumberTypeBits } from './type-bits.js';

const TWO_POW_63 = 2 ** 63;
const DOUBLE_NORMAL_MIN = 2 ** -1022;
/** Up to here every integer is a double. */
const EXACT_INTEGER_MAX = 2 ** 53;
const ROUNDED_DIGITS = 15;
const FULL_INTEGER_MIN = 1n << 55n;
const TINY_SCALE_BITS = 256n;
const NEGATIVE_ZERO_OFFSET = 12288;

/**
 * Appends a decimal so that it orders among all other numbers: the nearest double toward zero, then the remainder as a
 * continuation where 15 digits do not decide.
 */
export function appendDecimal(key: KeyWriter, decimal: Decimal128): void {
  const parts = decimalParts(decimal);
  const biased = parts.exponent + DECIMAL_EXPONENT_BIAS;
  if (parts.kind === 'finite' && parts.coefficient === 0n) {
    key.typeBits?.appendDecimalZero(biased + (parts.negative ? NEGATIVE_ZERO_OFFSET : 0));
    key.byte(NumberKeyType.zero);
    return;
  }
  if (parts.kind !== 'finite') {
    key.typeBits?.appendNumber(NumberTypeBits.decimal);
    appendDouble(key, parts.kind === 'nan' ? Number.NaN : parts.negative ? -Infinity : Infinity);
    return;
  }
  key.typeBits?.appendDecimal(biased);
  appendFinite(key, parts);
}

function appendFinite(key: KeyWriter, parts: DecimalParts): void {
  const { negative } = parts;
  const exact = decimalFraction(parts);
  const near = doubleNotAbove(exact);
  const signed = negative ? -near.value : near.value;
  if (near.exact) {
    appendDouble(key, signed);
    return;
  }
  if (near.value < DOUBLE_NORMAL_MIN) {
    appendTiny(key, parts, exact, near.value);
    return;
  }
  if (near.value >= Number.MAX_VALUE) {
    appendHuge(key, parts);
    return;
  }
  if (near.value >= TWO_POW_63) {
    appendLargeDouble(key, signed, Continuation.aboveRounded);
    appendContinuation(key, exact, fullDigits(near.value), negative);
    return;
  }
  if (near.value < TWO_BIT_CONTINUATION_MIN) {
    appendSmallDouble(key, signed, Continuation.aboveRounded);
    appendContinuation(key, exact, fullDigits(near.value), negative);
    return;
  }
  if (near.value >= EXACT_INTEGER_MAX) {
    appendWideInteger(key, exact, negative);
    return;
  }
  appendRounded(key, exact, near.value, negative);
}

function appendRounded(key: KeyWriter, exact: Fraction, near: number, negative: boolean): void {
  const signed = negative ? -near : near;
  const rounded = decimalDigits(doubleFraction(near), ROUNDED_DIGITS, true);
  if (equalsMagnitude(exact, rounded)) {
    appendDouble(key, signed, Continuation.equalsRounded);
    return;
  }
  const below = compareFractions(exact, magnitudeFraction(rounded)) < 0;
  appendDouble(key, signed, below ? Continuation.belowRounded : Continuation.aboveRounded);
  appendContinuation(key, exact, fullDigits(near), negative);
}

/** Between 2^53 and 2^63 the integer part is written in full, because a double would lose digits. */
function appendWideInteger(key: KeyWriter, exact: Fraction, negative: boolean): void {
  const integer = exact.numerator / exact.denominator;
  const hasFraction = exact.numerator % exact.denominator !== 0n;
  appendMagnitude(key, (integer << 1n) | (hasFraction ? 1n : 0n), negative);
  if (!hasFraction) return;
  if (integer < FULL_INTEGER_MIN) key.byte(negative ? ~Continuation.aboveRounded & 0xff : Continuation.aboveRounded);
  appendContinuation(
    key,
    exact,
    decimalDigits({ numerator: integer, denominator: 1n }, DECIMAL_DIGITS, false),
    negative,
  );
}

/** A double's value in 34 digits, rounded up. */
function fullDigits(value: number): DecimalMagnitude {
  return decimalDigits(doubleFraction(value), DECIMAL_DIGITS, true);
}

/** Appends the difference between the decimal and a stored value, in units of the value's last digit. */
function appendContinuation(key: KeyWriter, exact: Fraction, stored: DecimalMagnitude, negative: boolean): void {
  const units = decimalUnits(exact, stored.exponent) - stored.coefficient;
  appendBits(key, units < 0n ? 0n : units, negative);
}

function decimalUnits({ numerator, denominator }: Fraction, exponent: number): bigint {
  const scale = 10n ** BigInt(Math.abs(exponent));
  return exponent < 0 ? (numerator * scale) / denominator : numerator / (denominator * scale);
}

/** Decimals below the normal doubles. */
function appendTiny(key: KeyWriter, parts: DecimalParts, exact: Fraction, near: number): void {
  const { negative } = parts;
  key.byte(negative ? NumberKeyType.negativeSmall : NumberKeyType.positiveSmall);
  if (near === 0) {
    appendNormalized(key, parts, 0n);
    return;
  }
  const scaled = doubleNotAbove({
    numerator: exact.numerator << TINY_SCALE_BITS,
    denominator: exact.denominator,
  }).value;
  appendTinyDouble(key, scaled, Continuation.aboveRounded, negative);
  const { numerator, denominator } = doubleFraction(scaled);
  const stored = decimalDigits({ numerator, denominator: denominator << TINY_SCALE_BITS }, DECIMAL_DIGITS, false);
  appendContinuation(key, exact, stored, negative);
}

/** Decimals above the largest double. */
function appendHuge(key: KeyWriter, parts: DecimalParts): void {
  key.byte(parts.negative ? NumberKeyType.negativeLarge : NumberKeyType.positiveLarge);
  appendNormalized(key, parts, 1n << 63n);
}

function appendNormalized(key: KeyWriter, parts: DecimalParts, prefix: bigint): void {
  const { coefficient, exponent } = normalizedDecimal(parts);
  const high = (BigInt(exponent + DECIMAL_EXPONENT_BIAS) << 49n) | (coefficient >> 64n);
  appendBits(key, high | prefix, parts.negative);
  appendBits(key, BigInt.asUintN(64, coefficient), parts.negative);
}
