import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';
import { DateTime, UndefinedValue, type Doc, type Value } from '../bson/value.js';

/** A document as the server prints it in messages: `{ a: 1, b: "x" }`. */
export function documentText(doc: Doc): string {
  if (doc.size === 0) return '{}';
  return `{ ${[...doc].map(([name, value]) => `${name}: ${valueText(value)}`).join(', ')} }`;
}

/** A value as the server prints it in messages. */
export function valueText(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;
  if (typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map(valueText).join(', ')} ]`;
  if (value instanceof Map) return documentText(value);
  return numberText(value) ?? otherText(value);
}

function numberText(value: Exclude<Value, null | string | boolean | Doc | Value[]>): string | undefined {
  if (value instanceof Int32) return String(value.value);
  if (value instanceof Timestamp) return `Timestamp(${value.t}, ${value.i})`;
  if (value instanceof Long) return value.toString();
  if (value instanceof Double) return doubleText(value.value);
  if (value instanceof Decimal128) return value.toString();
  return undefined;
}

function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  return Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toFixed(1) : String(value);
}

function otherText(value: Exclude<Value, null | string | boolean | Doc | Value[]>): string {
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`;
  if (value instanceof DateTime) return `new Date(${value.ms.toString()})`;
  if (value instanceof Binary) return binaryText(value);
  if (value instanceof BSONRegExp) return `/${value.pattern}/${value.options}`;
  if (value instanceof BSONSymbol) return `"${value.value}"`;
  if (value instanceof Code) return String(value.code);
  if (value instanceof MinKey) return 'MinKey';
  if (value instanceof MaxKey) return 'MaxKey';
  if (value instanceof UndefinedValue) return 'undefined';
  return '?';
}

function binaryText(value: Binary): string {
  const bytes = Buffer.from(value.buffer.subarray(0, value.position));
  if (value.sub_type !== Binary.SUBTYPE_UUID) return `BinData(${value.sub_type}, ${bytes.toString('hex').toUpperCase()})`;
  return `UUID("${uuidText(bytes)}")`;
}

/** A UUID's 16 bytes in the usual grouping. */
export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes).toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
