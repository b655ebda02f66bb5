import type { Binary, Timestamp } from 'bson';
import { decodeDocument } from './decode.js';
import { DateTime, type Doc, RawDocument, UndefinedValue, type Value } from './value.js';

const UUID_SUBTYPE = 4;

/** A document as the server's messages show it: `{ a: 1, b: "x" }`. */
export function documentText(doc: Doc): string {
  const fields = [...doc].map(([name, value]) => `${name}: ${valueText(value)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** A value as the server's messages show it. */
export function valueText(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `"${value}"`;
  if (typeof value === 'boolean') return String(value);
  if (value instanceof Map) return documentText(value);
  if (value instanceof RawDocument) return documentText(decodeDocument(value.bytes));
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map(valueText).join(', ')} ]`;
  if (value instanceof DateTime) return `new Date(${value.ms})`;
  if (value instanceof UndefinedValue) return 'undefined';
  switch (value._bsontype) {
    case 'Int32':
    case 'Long':
    case 'Decimal128':
      return value.toString();
    case 'Double':
      return doubleText(value.value);
    case 'ObjectId':
      return `ObjectId('${value.toHexString()}')`;
    case 'Binary':
      return binaryText(value);
    case 'Timestamp':
      return timestampText(value);
    case 'BSONRegExp':
      return `/${value.pattern}/${value.options}`;
    case 'MinKey':
    case 'MaxKey':
      return value._bsontype;
    case 'Code':
      return value.code;
    case 'BSONSymbol':
      return `"${value.value}"`;
    case 'DBRef':
      return `DBRef('${value.collection}',${value.oid.toHexString()})`;
  }
}

function timestampText(value: Timestamp): string {
  return `Timestamp(${value.t}, ${value.i})`;
}

/** As C prints 16 digits (`%.16g`), with `.0` after anything without a point: `nan.0` and `1e+300.0` too. */
function doubleText(value: number): string {
  const digits = printedDouble(value, SIGNIFICANT_DIGITS);
  return digits.includes('.') ? digits : `${digits}.0`;
}

const SIGNIFICANT_DIGITS = 16;

/** As C prints a number of digits (`%g`). */
export function printedDouble(value: number, significantDigits: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', power = ''] = value.toExponential(significantDigits - 1).split('e');
  const exponent = Number(power);
  if (exponent >= -4 && exponent < significantDigits)
    return withoutZeros(value.toFixed(Math.max(0, Math.min(100, significantDigits - 1 - exponent))));
  return `${withoutZeros(mantissa)}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

function withoutZeros(text: string): string {
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

function binaryText(value: Binary): string {
  const hex = Buffer.from(value.buffer.subarray(0, value.position)).toString('hex');
  if (value.sub_type === UUID_SUBTYPE && value.position === 16) {
    return `UUID("${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}")`;
  }
  return `BinData(${value.sub_type}, ${hex.toUpperCase()})`;
}
