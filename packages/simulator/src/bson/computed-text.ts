import { valueText } from './text.js';
import { DateTime, type Value } from './value.js';

/** A value as the messages of expressions show it: `{a: 1, b: [2, "x"]}`, doubles with 6 digits. */
export function computedText(value: Value | undefined): string {
  if (value === undefined) return 'MISSING';
  if (Array.isArray(value)) return `[${value.map(computedText).join(', ')}]`;
  if (value instanceof Map)
    return `{${[...value].map(([name, inner]) => `${name}: ${computedText(inner)}`).join(', ')}}`;
  if (value instanceof DateTime) return new Date(Number(value.ms)).toISOString();
  if (typeof value !== 'object' || value === null || !('_bsontype' in value)) return valueText(value);
  switch (value._bsontype) {
    case 'Double':
      return doubleText(value.value);
    case 'ObjectId':
      return value.toHexString();
    case 'BSONSymbol':
      return `Symbol("${value.value}")`;
    case 'Code':
      return `Code("${value.code}")`;
    case 'Binary':
      return (
        `BinData(${value.sub_type}, ` +
        `"${Buffer.from(value.buffer.subarray(0, value.position)).toString('hex').toUpperCase()}")`
      );
    default:
      return valueText(value);
  }
}

const DIGITS = 6;

/** As C prints 6 digits (`%g`). */
function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', power = ''] = value.toExponential(DIGITS - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < DIGITS) return String(Number(value.toPrecision(DIGITS)));
  return `${Number(mantissa)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}
