import { printedDouble, valueText } from './text.js';
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
      return printedDouble(value.value, DIGITS);
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
