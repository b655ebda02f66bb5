import type {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  DBRef,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
} from 'bson';

/** A BSON date: milliseconds since 1970 as the full signed 64-bit range, which a JavaScript Date cannot hold. */
export class DateTime {
  constructor(readonly ms: bigint) {}
}

/** The deprecated BSON type 6. */
export class UndefinedValue {
  readonly typeName = 'undefined';
  private constructor() {}
  static readonly instance = new UndefinedValue();
}

/** A document passed on as its bytes. An encoder copies it where an embedded document would stand. */
export class RawDocument {
  constructor(readonly bytes: Uint8Array) {}
}

/** A document in memory. A Map keeps the order of fields, numeric names included, which an object does not. */
export type Doc = Map<string, Value>;

/**
 * Every value of BSON with its exact type. Numbers are never plain JavaScript numbers, because int, long and double
 * behave differently.
 */
export type Value =
  | null
  | boolean
  | string
  | Int32
  | Double
  | Long
  | Decimal128
  | ObjectId
  | Binary
  | Timestamp
  | DateTime
  | BSONRegExp
  | BSONSymbol
  | Code
  | DBRef
  | MinKey
  | MaxKey
  | UndefinedValue
  | RawDocument
  | Doc
  | Value[];
