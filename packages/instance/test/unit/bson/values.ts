import fc from 'fast-check';
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
} from 'mongodb';

/** Doubles whose value other number types can represent, and those that they cannot. */
const doubles = fc.oneof(
  fc.constantFrom(
    0,
    -0,
    NaN,
    Infinity,
    -Infinity,
    5e-324,
    1.7976931348623157e308,
    2 ** 53,
    2 ** 63,
    -(2 ** 63),
    0.1,
    0.5,
    -2.5,
    1e22,
  ),
  fc.integer({ min: -5, max: 5 }),
  fc.double(),
);

const decimals = fc.oneof(
  fc.constantFrom(
    'NaN',
    'Infinity',
    '-Infinity',
    '0',
    '-0',
    '0E+10',
    '1',
    '1.0',
    '1E+1',
    '10',
    '0.1',
    '0.5',
    '-2.5',
    '5',
    '9007199254740993',
    '1E-6176',
    '9.999999999999999999999999999999999E+6144',
    '9223372036854775808',
  ),
  fc.integer({ min: -5, max: 5 }).map(String),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 33n), max: 10n ** 33n }), fc.integer({ min: -40, max: 40 }))
    .map(([digits, power]) => `${digits}E${power}`),
);

const numbers = fc.oneof(
  fc.integer({ min: -5, max: 5 }).map((value) => new Int32(value)),
  fc.integer().map((value) => new Int32(value)),
  fc
    .constantFrom(0n, 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n))
    .map((value) => Long.fromBigInt(value)),
  fc.integer({ min: -5, max: 5 }).map((value) => Long.fromNumber(value)),
  doubles.map((value) => new Double(value)),
  decimals.map((value) => Decimal128.fromStringWithRounding(value)),
);

const texts = fc.constantFrom('', 'a', 'A', 'b', 'ab', 'ä', '\u{1f600}', '\uffff', 'a\0b', 'a\0');

const leaves = fc.oneof(
  { arbitrary: numbers, weight: 5 },
  texts,
  texts.map((value) => new BSONSymbol(value)),
  fc.constantFrom(null, true, false, new MinKey(), new MaxKey()),
  fc
    .tuple(fc.uint8Array({ maxLength: 3 }), fc.constantFrom(0, 5, 128))
    .map(([bytes, subtype]) => new Binary(bytes, subtype)),
  fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => new ObjectId(bytes)),
  fc.constantFrom(-1, 0, 1, 1_700_000_000_000).map((time) => new Date(time)),
  fc.constantFrom({ t: 1, i: 2 }, { t: 0xffffffff, i: 1 }, { t: 0, i: 0 }).map((time) => new Timestamp(time)),
  fc.constantFrom(['a', ''], ['a', 'i'], ['b', '']).map(([pattern = '', flags = '']) => new BSONRegExp(pattern, flags)),
  fc.constantFrom(new Code('x'), new Code('x', { a: 1 }), new Code('x', { a: 2 }), new Code('y')),
);

/** Values of all types, mostly small ones, so that equal values of different types are frequent. */
export const bsonValues: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    leaves,
    fc.array(tie('value'), { maxLength: 2 }),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', '10', '2', 'ä'), tie('value')), {
        maxLength: 2,
        selector: ([name]) => name,
      })
      .map((fields) => new Map(fields)),
  ),
})).value;

export const numberValues: fc.Arbitrary<unknown> = numbers;
