import { ElementType } from './element-type.js';
import { DateTime, RawDocument, UndefinedValue, type Value } from './value.js';

/** The BSON type byte of a value; 0xff for MinKey as on the wire. */
export function typeOf(value: Value): number {
  if (typeof value === 'string') return ElementType.string;
  if (typeof value === 'boolean') return ElementType.boolean;
  if (value === null) return ElementType.null;
  if (value instanceof Map || value instanceof RawDocument) return ElementType.document;
  if (Array.isArray(value)) return ElementType.array;
  if (value instanceof DateTime) return ElementType.date;
  if (value instanceof UndefinedValue) return ElementType.undefined;
  switch (value._bsontype) {
    case 'Int32':
      return ElementType.int32;
    case 'ObjectId':
      return ElementType.objectId;
    case 'Double':
      return ElementType.double;
    case 'Long':
      return ElementType.int64;
    case 'Timestamp':
      return ElementType.timestamp;
    case 'Binary':
      return ElementType.binary;
    case 'Decimal128':
      return ElementType.decimal128;
    case 'BSONRegExp':
      return ElementType.regex;
    case 'BSONSymbol':
      return ElementType.symbol;
    case 'Code':
      return value.scope === null ? ElementType.code : ElementType.codeWithScope;
    case 'DBRef':
      return ElementType.dbPointer;
    case 'MinKey':
      return ElementType.minKey;
    case 'MaxKey':
      return ElementType.maxKey;
  }
}

const names = new Map<number, string>([
  [ElementType.double, 'double'],
  [ElementType.string, 'string'],
  [ElementType.document, 'object'],
  [ElementType.array, 'array'],
  [ElementType.binary, 'binData'],
  [ElementType.undefined, 'undefined'],
  [ElementType.objectId, 'objectId'],
  [ElementType.boolean, 'bool'],
  [ElementType.date, 'date'],
  [ElementType.null, 'null'],
  [ElementType.regex, 'regex'],
  [ElementType.dbPointer, 'dbPointer'],
  [ElementType.code, 'javascript'],
  [ElementType.symbol, 'symbol'],
  [ElementType.codeWithScope, 'javascriptWithScope'],
  [ElementType.int32, 'int'],
  [ElementType.timestamp, 'timestamp'],
  [ElementType.int64, 'long'],
  [ElementType.decimal128, 'decimal'],
  [ElementType.minKey, 'minKey'],
  [ElementType.maxKey, 'maxKey'],
]);

/**
 * The alias of a value's type as `$type` and error messages show it ("int", "object", "binData", …); "missing" for
 * undefined.
 */
export function typeName(value: Value | undefined): string {
  return value === undefined ? 'missing' : (names.get(typeOf(value)) ?? 'missing');
}

/**
 * The type byte of an alias.
 * @returns undefined for an unknown alias
 */
export function typeOfAlias(alias: string): number | undefined {
  for (const [type, name] of names) if (name === alias) return type;
  return undefined;
}

/** True for int, long, double and decimal. */
export function isNumberType(type: number): boolean {
  return (
    type === ElementType.int32 ||
    type === ElementType.double ||
    type === ElementType.int64 ||
    type === ElementType.decimal128
  );
}
