import type { Decimal128 } from 'bson';
import { roundDecimal, wholePartOfDecimal } from './decimal-arithmetic.js';
import { decimalParts } from './exact-number.js';

export const LONG_MIN = -(2n ** 63n);

/** A decimal as the nearest long, halves to even. What fits none becomes the smallest, as on a server. */
export function longOfDecimal(value: Decimal128): bigint {
  const parts = decimalParts(roundDecimal(value, 0, 'half even'));
  if (parts.kind !== 'finite') return LONG_MIN;
  const whole = wholePartOfDecimal(parts);
  return whole === BigInt.asIntN(64, whole) ? whole : LONG_MIN;
}
