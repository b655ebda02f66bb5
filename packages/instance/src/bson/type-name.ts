import { elementType } from './element-type.js';

/** Names of types as `$type` knows them, where `elementType` has others. */
const otherNames: Readonly<Record<string, string | undefined>> = {
  document: 'object',
  binary: 'binData',
  code: 'javascript',
  codeWithScope: 'javascriptWithScope',
  int32: 'int',
};

const namesByType = new Map<number, string>(
  Object.entries(elementType).map(([name, type]) => [type, otherNames[name] ?? name]),
);

/** The name of a type as `$type` takes it; an unknown byte is shown in hexadecimal. */
export function typeName(type: number): string {
  return namesByType.get(type) ?? `0x${type.toString(16)}`;
}
