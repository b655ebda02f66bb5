/** Type bytes of BSON elements (bsonspec.org). */
export const elementType = {
  double: 0x01,
  string: 0x02,
  document: 0x03,
  array: 0x04,
  binary: 0x05,
  undefined: 0x06,
  objectId: 0x07,
  bool: 0x08,
  date: 0x09,
  null: 0x0a,
  regex: 0x0b,
  dbPointer: 0x0c,
  code: 0x0d,
  symbol: 0x0e,
  codeWithScope: 0x0f,
  int32: 0x10,
  timestamp: 0x11,
  long: 0x12,
  decimal: 0x13,
  maxKey: 0x7f,
  minKey: 0xff,
} as const;

/**
 * The positions of types in the server's order; types with the same position are compared by value. The numbers are the
 * server's own, because hashed shard keys contain them.
 */
export const canonical = {
  minKey: -1,
  undefined: 0,
  null: 5,
  number: 10,
  string: 15,
  document: 20,
  array: 25,
  binary: 30,
  objectId: 35,
  bool: 40,
  date: 45,
  timestamp: 47,
  regex: 50,
  dbPointer: 55,
  code: 60,
  codeWithScope: 65,
  maxKey: 127,
} as const;

/** Types without a position of their own are with those that they compare to. */
const places: Record<keyof typeof elementType, number> = {
  ...canonical,
  int32: canonical.number,
  long: canonical.number,
  double: canonical.number,
  decimal: canonical.number,
  symbol: canonical.string,
};

const canonicalByType = new Map<number, number>(
  Object.entries(elementType).map(([name, type]) => [type, places[name as keyof typeof elementType]]),
);

/**
 * The position of a type in the server's order of types.
 * @throws RangeError for a byte that is no BSON type
 */
export function canonicalType(type: number): number {
  const place = canonicalByType.get(type);
  if (place === undefined) throw new RangeError(`Unknown BSON type 0x${type.toString(16)}`);
  return place;
}

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
