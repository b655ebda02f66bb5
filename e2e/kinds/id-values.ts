import {
  Binary,
  BSON,
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
  UUID,
} from 'mongodb';

/** A BSON value as it stands in a document: the byte of its type and the bytes after its name. */
export interface RawId {
  readonly type: number;
  readonly bytes: Buffer;
}

const doubleType = 0x01;
const dbPointerType = 0x0c;
const oldUuidSubtype = 0x03;

/** The value as the driver writes it. */
export function idOf(value: unknown): RawId {
  const document = Buffer.from(BSON.serialize({ v: value }));
  return { type: document.readUInt8(4), bytes: document.subarray(7, document.length - 1) };
}

/**
 * Values of every type that an `_id` may have, no two of them equal to the index, among them many that the driver
 * cannot write or would change.
 * @param copies how many of each type, beside those that exist only once
 */
export function idsOfEveryType(copies: number): RawId[] {
  const numbered = Array.from({ length: copies }, (_, n) => manyOf(n));
  return [...onlyOnes(), ...numbered.flat()];
}

/** Extremes, and values that exist only once. */
function onlyOnes(): RawId[] {
  const values: unknown[] = [
    null,
    new MinKey(),
    new MaxKey(),
    true,
    false,
    new Double(-0),
    new Double(Infinity),
    Decimal128.fromString('-Infinity'),
    new Double(5e-324),
    new Double(1.7976931348623157e308),
    new Double(2 ** 53),
    Long.fromString('9007199254740993'),
    Long.MAX_VALUE,
    Long.MIN_VALUE,
    new Int32(-2_147_483_648),
    Decimal128.fromString('1E+6144'),
    Decimal128.fromString('1E-6176'),
    Decimal128.fromString('-3.2500'),
    Decimal128.fromString('9223372036854775808'),
    '',
    'ü',
    '\u{10400}',
    '\uFFFD',
    'a\0b',
    'x'.repeat(70_000),
    {},
    { '': '' },
    new Map([
      ['2', 1],
      ['1', 2],
    ]),
    { a: [] },
    { a: [[], {}] },
    { a: { b: { c: { d: null } } } },
    { a: new MinKey() },
    { a: new MaxKey() },
    { a: new Decimal128(Buffer.alloc(16)) },
    { 'a.b': 1 },
    { text: 'x'.repeat(40_000) },
    { a: /regular/i },
    new Binary(Buffer.alloc(0)),
    new Binary(Buffer.alloc(5_000)),
    new Date(0),
    new Date(-1),
    new Date(8_640_000_000_000_000),
    new Timestamp(0n),
    new Timestamp(2n ** 64n - 1n),
    objectId(0),
    new ObjectId('ffffffffffffffffffffffff'),
  ];
  return [...values.map(idOf), quietNan()];
}

/** One of each type that has many values. */
function manyOf(n: number): RawId[] {
  const bytes = Buffer.from(`binary ${n}`);
  const subtypes = [0, 1, 2, 8, 128, 255];
  const sixteen = Buffer.alloc(16, 0xab);
  sixteen.writeInt32LE(n, 6);
  const values: unknown[] = [
    new Int32(n + 1),
    new Long(-n - 1),
    new Double(n + 0.5),
    Decimal128.fromString(`${n}.250`),
    Long.fromString('9007199254740995').add(n),
    `string ${n}`,
    new BSONSymbol(`symbol ${n}`),
    { n, text: `text ${n}` },
    { n: { n: new Double(n + 0.25), more: [n, `${n}`] } },
    new Binary(bytes, subtypes[n % subtypes.length]),
    new UUID(sixteen),
    new Binary(sixteen, n % 2 === 0 ? oldUuidSubtype : Binary.SUBTYPE_MD5),
    new Date(1_600_000_000_000 + n),
    new Timestamp({ t: 1_600_000_000 + n, i: n }),
    objectId(n + 1),
    new Code(`code ${n}`),
    new Code(`scoped ${n}`, { n }),
  ];
  return [...values.map(idOf), dbPointer(n)];
}

function objectId(n: number): ObjectId {
  return new ObjectId(n.toString(16).padStart(24, '0'));
}

/** A NaN that is not the one that JavaScript writes: no driver code may touch it. */
function quietNan(): RawId {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(0xfff8_0000_0000_0b0en);
  return { type: doubleType, bytes };
}

/** A deprecated type that current drivers cannot write: a string with its length, and 12 bytes. */
function dbPointer(n: number): RawId {
  const name = Buffer.from(`e2e.pointed${n}\0`);
  const size = Buffer.alloc(4);
  size.writeInt32LE(name.length);
  return { type: dbPointerType, bytes: Buffer.concat([size, name, objectId(n).id]) };
}

/** A document of bytes: the `_id` first, then the fields of `more`. */
export function documentOf(id: RawId, more: object): Buffer {
  const rest = Buffer.from(BSON.serialize(more));
  const body = Buffer.concat([
    Buffer.alloc(4),
    Buffer.from([id.type]),
    Buffer.from('_id\0'),
    id.bytes,
    rest.subarray(4),
  ]);
  body.writeInt32LE(body.length);
  return body;
}
