import {
  compareFractions,
  DECIMAL_EXPONENT_BIAS,
  type DecimalParts,
  decimalFraction,
  type Fraction,
} from './exact-number.js';

const MANTISSA_MIN = 1n << 52n;
const DOUBLE_EXPONENT_MIN = -1074;
const DOUBLE_EXPONENT_MAX = 971;
/** Digits of a normalized Decimal128. */
export const DECIMAL_DIGITS = 34;
const LOG10_OF_2 = 0.30103;

/** A double and whether it is the exact value. */
interface RoundedDouble {
  value: number;
  exact: boolean;
}

/** A decimal magnitude `coefficient × 10^exponent`. */
export interface DecimalMagnitude {
  coefficient: bigint;
  exponent: number;
}

/** The largest double that is not above a magnitude. */
export function doubleNotAbove(fraction: Fraction): RoundedDouble {
  if (fraction.numerator === 0n) return { value: 0, exact: true };
  let exponent = Math.max(bitLength(fraction.numerator) - bitLength(fraction.denominator) - 53, DOUBLE_EXPONENT_MIN);
  let { quotient, remainder } = divideByPower(fraction, exponent);
  while (quotient >= MANTISSA_MIN << 1n) {
    exponent += 1;
    ({ quotient, remainder } = divideByPower(fraction, exponent));
  }
  if (exponent > DOUBLE_EXPONENT_MAX) return { value: Number.MAX_VALUE, exact: false };
  return { value: Number(quotient) * 2 ** exponent, exact: remainder === 0n };
}

/**
 * A magnitude with this many digits, normalized to exactly that many where the exponent allows it.
 * @param up rounds up instead of down
 */
export function decimalDigits(fraction: Fraction, digits: number, up: boolean): DecimalMagnitude {
  const estimate =
    Math.floor((bitLength(fraction.numerator) - bitLength(fraction.denominator)) * LOG10_OF_2) - digits - 1;
  let exponent = Math.max(estimate, -DECIMAL_EXPONENT_BIAS);
  let rounded = roundAt(fraction, exponent, up);
  while (rounded >= 10n ** BigInt(digits)) {
    exponent += 1;
    rounded = roundAt(fraction, exponent, up);
  }
  return { coefficient: rounded, exponent };
}

/** The fraction a decimal magnitude stands for. */
export function magnitudeFraction({ coefficient, exponent }: DecimalMagnitude): Fraction {
  return decimalFraction({ kind: 'finite', negative: false, coefficient, exponent });
}

/** True when both stand for the same magnitude. */
export function equalsMagnitude(fraction: Fraction, magnitude: DecimalMagnitude): boolean {
  return compareFractions(fraction, magnitudeFraction(magnitude)) === 0;
}

/** A decimal with as many digits as possible, as the server normalizes it. */
export function normalizedDecimal(parts: DecimalParts): DecimalMagnitude {
  let { coefficient, exponent } = parts;
  const limit = 10n ** BigInt(DECIMAL_DIGITS - 1);
  while (coefficient !== 0n && coefficient < limit && exponent > -DECIMAL_EXPONENT_BIAS) {
    coefficient *= 10n;
    exponent -= 1;
  }
  return { coefficient, exponent };
}

function roundAt(fraction: Fraction, exponent: number, up: boolean): bigint {
  const scale = 10n ** BigInt(Math.abs(exponent));
  const numerator = exponent < 0 ? fraction.numerator * scale : fraction.numerator;
  const denominator = exponent < 0 ? fraction.denominator : fraction.denominator * scale;
  return up ? (numerator + denominator - 1n) / denominator : numerator / denominator;
}

function divideByPower(fraction: Fraction, exponent: number): { quotient: bigint; remainder: bigint } {
  const numerator = exponent < 0 ? fraction.numerator << BigInt(-exponent) : fraction.numerator;
  const denominator = exponent < 0 ? fraction.denominator : fraction.denominator << BigInt(exponent);
  return { quotient: numerator / denominator, remainder: numerator % denominator };
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
