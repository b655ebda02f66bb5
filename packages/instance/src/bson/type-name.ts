import { elementType } from './element-type.js';

/** Names of types as `$type` knows them, by type byte. */
const namesByType = new Map<number, string>([
  [elementType.double, 'double'],
  [elementType.string, 'string'],
  [elementType.document, 'object'],
  [elementType.array, 'array'],
  [elementType.binary, 'binData'],
  [elementType.undefined, 'undefined'],
  [elementType.objectId, 'objectId'],
  [elementType.bool, 'bool'],
  [elementType.date, 'date'],
  [elementType.null, 'null'],
  [elementType.regex, 'regex'],
  [elementType.dbPointer, 'dbPointer'],
  [elementType.code, 'javascript'],
  [elementType.symbol, 'symbol'],
  [elementType.codeWithScope, 'javascriptWithScope'],
  [elementType.int32, 'int'],
  [elementType.timestamp, 'timestamp'],
  [elementType.long, 'long'],
  [elementType.decimal, 'decimal'],
  [elementType.minKey, 'minKey'],
  [elementType.maxKey, 'maxKey'],
]);

/** The name of a type as `$type` takes it; an unknown byte is shown in hexadecimal. */
export function typeName(type: number): string {
  return namesByType.get(type) ?? `0x${type.toString(16)}`;
}
