/** A finite number as `digits` × 10^`exponent`; `digits` carries the sign and has no trailing zeros unless it is 0. */
export interface ExactNumber {
  digits: bigint;
  exponent: number;
}

/** Coefficients of a Decimal128 have at most 34 digits. */
const digitsLimit = 10n ** 34n;
/** Bias of the decimal exponent (IEEE 754-2008, 128 bits). */
const decimalBias = 6176;

/** Drops trailing zeros of the digits into the exponent. */
export function normalised(digits: bigint, exponent: number): ExactNumber {
  if (digits === 0n) return { digits: 0n, exponent: 0 };
  let rest = digits;
  let power = exponent;
  while (rest % 10n === 0n) {
    rest /= 10n;
    power += 1;
  }
  return { digits: rest, exponent: power };
}

/** A finite double in decimal, with all of its digits: servers compare it exactly with decimals (tried on 5.0.7). */
export function exactDouble(value: number): ExactNumber {
  if (value === 0) return { digits: 0n, exponent: 0 };
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const biased = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = biased === 0 ? fraction : fraction | 0x10000000000000n;
  const power = (biased === 0 ? 1 : biased) - 1075;
  const signed = value < 0 ? -mantissa : mantissa;
  return power >= 0 ? normalised(signed << BigInt(power), 0) : normalised(signed * 5n ** BigInt(-power), power);
}

/** Reads a Decimal128's 16 bytes: a number, or the name of a value that is not finite. */
export function exactDecimal(bytes: Buffer): ExactNumber | 'NaN' | 'Infinity' | '-Infinity' {
  const high = bytes.readBigUInt64LE(8);
  const low = bytes.readBigUInt64LE(0);
  const negative = high >> 63n === 1n;
  const combination = Number((high >> 58n) & 0x1fn);
  if (combination === 0x1f) return 'NaN';
  if (combination === 0x1e) return negative ? '-Infinity' : 'Infinity';
  // The other layout (combination 11xxx) holds only coefficients beyond 34 digits, which count as 0.
  if (combination >= 0x18) return { digits: 0n, exponent: 0 };
  const exponent = Number((high >> 49n) & 0x3fffn) - decimalBias;
  const coefficient = ((high & 0x1ffffffffffffn) << 64n) | low;
  if (coefficient >= digitsLimit) return { digits: 0n, exponent: 0 };
  return normalised(negative ? -coefficient : coefficient, exponent);
}

/** Order of two exact numbers: negative, 0 or positive. */
export function compareExact(a: ExactNumber, b: ExactNumber): number {
  const signA = a.digits < 0n ? -1 : a.digits > 0n ? 1 : 0;
  const signB = b.digits < 0n ? -1 : b.digits > 0n ? 1 : 0;
  if (signA !== signB || signA === 0) return signA - signB;
  const magnitude = digitCount(a.digits) + a.exponent - (digitCount(b.digits) + b.exponent);
  if (magnitude !== 0) return magnitude * signA;
  const shift = a.exponent - b.exponent;
  const left = shift > 0 ? a.digits * 10n ** BigInt(shift) : a.digits;
  const right = shift < 0 ? b.digits * 10n ** BigInt(-shift) : b.digits;
  return left < right ? -1 : left > right ? 1 : 0;
}

function digitCount(value: bigint): number {
  return (value < 0n ? -value : value).toString().length;
}
