import { Decimal128 } from 'bson';
import { DECIMAL_DIGITS } from './decimal-rounding.js';
import {
  DECIMAL_EXPONENT_BIAS,
  decimalParts,
  type DecimalParts,
  doubleFraction,
  type Fraction,
} from './exact-number.js';

/** Digits of a double as a decimal: few where it is stored or combined with one, all where it is summed or rounded. */
const STORED_DIGITS = 15;

/** How the last digit is rounded. */
export type Rounding = 'half even' | 'down' | 'up' | 'towards zero';

/** A double as it is combined with decimals: 15 digits, `2` is `2.00000000000000`. */
export function decimalOfDouble(value: number): Decimal128 {
  if (!Number.isFinite(value) || value === 0) return special(value);
  return nearest(doubleFraction(value), value < 0, STORED_DIGITS);
}

/** A double with as many digits as a decimal has. */
export function wholeDecimalOfDouble(value: number): Decimal128 {
  if (!Number.isFinite(value) || value === 0) return special(value);
  const { coefficient, exponent } = decimalParts(nearest(doubleFraction(value), value < 0, DECIMAL_DIGITS));
  return made(withoutZeros({ coefficient, exponent }, 0), value < 0);
}

/** Adds; the exponent is the smaller one where the digits allow it. */
export function addDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  const [left, right] = [decimalParts(a), decimalParts(b)];
  if (left.kind !== 'finite' || right.kind !== 'finite') return special(plain(a) + plain(b));
  const exponent = Math.min(left.exponent, right.exponent);
  const sum = scaled(left, exponent) + scaled(right, exponent);
  const negative = sum === 0n ? left.negative && right.negative : sum < 0n;
  return fitting(sum < 0n ? -sum : sum, exponent, negative);
}

/** Multiplies; the exponents add up where the digits allow it. */
export function multiplyDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  const [left, right] = [decimalParts(a), decimalParts(b)];
  if (left.kind !== 'finite' || right.kind !== 'finite') return special(plain(a) * plain(b));
  return fitting(
    left.coefficient * right.coefficient,
    left.exponent + right.exponent,
    left.negative !== right.negative,
  );
}

/**
 * Divides by a number other than zero. An exact quotient has the difference of the exponents where its digits allow it.
 */
export function divideDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  const [left, right] = [decimalParts(a), decimalParts(b)];
  const negative = left.negative !== right.negative;
  if (left.kind === 'finite' && right.kind === 'infinity')
    return made({ coefficient: 0n, exponent: -DECIMAL_EXPONENT_BIAS }, negative);
  if (left.kind !== 'finite' || right.kind !== 'finite') return special(plain(a) / plain(b));
  const exponent = left.exponent - right.exponent;
  if (left.coefficient === 0n) return made({ coefficient: 0n, exponent }, negative);
  const shift = DECIMAL_DIGITS + right.coefficient.toString().length;
  const numerator = left.coefficient * 10n ** BigInt(shift);
  if (numerator % right.coefficient !== 0n) {
    const { coefficient, exponent: found } = digitsOf({ numerator, denominator: right.coefficient }, DECIMAL_DIGITS);
    return made({ coefficient, exponent: found + exponent - shift }, negative);
  }
  const exact = withoutZeros({ coefficient: numerator / right.coefficient, exponent: exponent - shift }, exponent);
  return fitting(exact.coefficient, exact.exponent, negative);
}

/** The remainder with the sign of the dividend. */
export function remainderOfDecimals(a: Decimal128, b: Decimal128): Decimal128 {
  const [left, right] = [decimalParts(a), decimalParts(b)];
  if (left.kind === 'finite' && right.kind === 'infinity') return a;
  if (left.kind !== 'finite' || right.kind !== 'finite') return special(plain(a) % plain(b));
  const exponent = Math.min(left.exponent, right.exponent);
  const rest = scaled(left, exponent) % scaled(right, exponent);
  return made({ coefficient: rest < 0n ? -rest : rest, exponent }, left.negative);
}

/** Rounds to a number of places after (or before) the point. NaN where the result has more digits than a decimal. */
export function roundDecimal(value: Decimal128, places: number, rounding: Rounding): Decimal128 {
  const { kind, negative, coefficient, exponent } = decimalParts(value);
  if (kind !== 'finite') return value;
  const shift = exponent + places;
  const rounded =
    shift >= 0 ? coefficient * 10n ** BigInt(shift) : quotient(coefficient, 10n ** BigInt(-shift), rounding, negative);
  if (rounded.toString().length > DECIMAL_DIGITS) return special(Number.NaN);
  return made({ coefficient: rounded, exponent: -places }, negative);
}

/** The whole part of a finite decimal. */
export function wholePartOfDecimal({ negative, coefficient, exponent }: DecimalParts): bigint {
  const whole = exponent >= 0 ? coefficient * 10n ** BigInt(exponent) : coefficient / 10n ** BigInt(-exponent);
  return negative ? -whole : whole;
}

/** Numbers that are not finite, and zero. */
function special(value: number): Decimal128 {
  if (Number.isNaN(value)) return Decimal128.fromString('NaN');
  return Decimal128.fromString(
    value === 0 ? (Object.is(value, -0) ? '-0' : '0') : value > 0 ? 'Infinity' : '-Infinity',
  );
}

function plain(value: Decimal128): number {
  return Number(value.toString());
}

function scaled({ negative, coefficient, exponent }: DecimalParts, to: number): bigint {
  return (negative ? -1n : 1n) * coefficient * 10n ** BigInt(exponent - to);
}

interface Magnitude {
  readonly coefficient: bigint;
  readonly exponent: number;
}

function made({ coefficient, exponent }: Magnitude, negative: boolean): Decimal128 {
  return Decimal128.fromString(`${negative ? '-' : ''}${coefficient}E${exponent}`);
}

function nearest(fraction: Fraction, negative: boolean, digits: number): Decimal128 {
  return made(digitsOf(fraction, digits), negative);
}

/** A magnitude as it is, or with as many digits as a decimal has. */
function fitting(coefficient: bigint, exponent: number, negative: boolean): Decimal128 {
  const spare = coefficient.toString().length - DECIMAL_DIGITS;
  if (spare <= 0) return made({ coefficient, exponent }, negative);
  const { coefficient: kept, exponent: moved } = digitsOf({ numerator: coefficient, denominator: 1n }, DECIMAL_DIGITS);
  return made({ coefficient: kept, exponent: exponent + moved }, negative);
}

/** Exactly this many digits of a magnitude other than zero, rounded to the nearest. */
function digitsOf({ numerator, denominator }: Fraction, digits: number): Magnitude {
  const limit = 10n ** BigInt(digits);
  let exponent = numerator.toString().length - denominator.toString().length - digits;
  for (;;) {
    const coefficient =
      exponent < 0
        ? quotient(numerator * 10n ** BigInt(-exponent), denominator, 'half even', false)
        : quotient(numerator, denominator * 10n ** BigInt(exponent), 'half even', false);
    if (coefficient < limit) return { coefficient, exponent };
    exponent += 1;
  }
}

function withoutZeros({ coefficient, exponent }: Magnitude, exponentMax: number): Magnitude {
  let [left, at] = [coefficient, exponent];
  while (at < exponentMax && left % 10n === 0n) [left, at] = [left / 10n, at + 1];
  return { coefficient: left, exponent: at };
}

function quotient(numerator: bigint, denominator: bigint, rounding: Rounding, negative: boolean): bigint {
  const whole = numerator / denominator;
  const rest = numerator % denominator;
  if (rest === 0n || rounding === 'towards zero') return whole;
  if (rounding === 'half even')
    return rest * 2n > denominator || (rest * 2n === denominator && whole % 2n === 1n) ? whole + 1n : whole;
  return (rounding === 'up') === negative ? whole : whole + 1n;
}
