import {
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
import fc from 'fast-check';
import { decodeUtf8 } from '../../../src/bson/utf8.js';
import { DateTime, type Doc, UndefinedValue, type Value } from '../../../src/bson/value.js';

const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
/** Of bytes that mostly are no UTF-8: high ones, beginnings and ends of characters. */
const oddText = fc
  .array(fc.constantFrom(0x41, 0x80, 0xa9, 0xc3, 0xe2, 0x82, 0xac, 0xed, 0xf0, 0xff), { maxLength: 6 })
  .map((codes) => decodeUtf8(Buffer.from(codes), 0, codes.length));
const text = fc.oneof(fc.string({ maxLength: 6 }), fc.string({ unit: 'binary', maxLength: 30 }), oddText);
const fieldName = fc.oneof(
  fc.string({ maxLength: 4 }).map((name) => name.replaceAll('\0', '')),
  oddText,
);
const bytes = fc.uint8Array({ maxLength: 20 });

const decimal = fc
  .tuple(
    fc.bigInt({ min: -(10n ** 34n) + 1n, max: 10n ** 34n - 1n }),
    fc.oneof(fc.integer({ min: -40, max: 25 }), fc.integer({ min: -6176, max: 6111 })),
  )
  .map(([coefficient, exponent]) => Decimal128.fromString(`${coefficient}E${exponent}`));

/** Numbers near each other in all four types, so that they often compare equal or almost. */
const closeNumber = fc
  .tuple(fc.integer({ min: -70_000, max: 70_000 }), fc.constantFrom(1, 0.5, 0.1, 2 ** 40, 2 ** 53, 2 ** 62))
  .chain(([whole, unit]) => {
    const double = whole * unit;
    const candidates: Value[] = [
      new Double(double),
      Decimal128.fromString(String(double)),
      Decimal128.fromString(`${whole}.5`),
    ];
    if (Number.isInteger(double) && Math.abs(double) < 2 ** 63) candidates.push(Long.fromBigInt(BigInt(double)));
    if (Number.isInteger(double) && Math.abs(double) < 2 ** 31) candidates.push(new Int32(double));
    return fc.constantFrom(...candidates);
  });

/** Numbers of every type. */
export const number: fc.Arbitrary<Value> = fc.oneof(
  closeNumber,
  fc.integer().map((value) => new Int32(value)),
  int64.map((value) => Long.fromBigInt(value)),
  fc.double().map((value) => new Double(value)),
  fc
    .constantFrom(-0, 2 ** 63, -(2 ** 63), 5e-324, 1.7976931348623157e308, 2 ** 53 + 2)
    .map((value) => new Double(value)),
  decimal,
  fc
    .constantFrom('0', '-0', 'NaN', 'Infinity', '-Infinity', '1E-6176', '0.1', '1E+400')
    .map((value) => Decimal128.fromString(value)),
);

/** Values without fields or elements, of every type. */
export const scalar: fc.Arbitrary<Value> = fc.oneof(
  number,
  text,
  fc.boolean(),
  fc.constantFrom<Value>(null, new MinKey(), new MaxKey(), UndefinedValue.instance),
  fc.uint8Array({ minLength: 12, maxLength: 12 }).map((id) => new ObjectId(id)),
  fc.tuple(bytes, fc.constantFrom(0, 3, 4, 128)).map(([data, subtype]) => new Binary(data, subtype)),
  int64.map((ms) => new DateTime(ms)),
  fc.tuple(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff)).map(([t, i]) => new Timestamp({ t, i })),
  fc.tuple(fieldName, fc.constantFrom('', 'i', 'im')).map(([pattern, options]) => new BSONRegExp(pattern, options)),
  text.map((value) => new BSONSymbol(value)),
  text.map((value) => new Code(value)),
  fieldName.map((name) => new DBRef(name, new ObjectId('65a000000000000000000001'))),
);

const tree = fc.letrec<{ value: Value; document: Doc }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    tie('document'),
    tie('document').map((scope) => new Code('x', scope)),
  ),
  document: fc.array(fc.tuple(fieldName, tie('value')), { maxLength: 4 }).map((fields) => new Map(fields)),
}));

/** Any BSON value. */
export const value = tree.value;
/** Any document. */
export const document = tree.document;
