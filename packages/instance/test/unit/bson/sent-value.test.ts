import fc from 'fast-check';
import { BSONSymbol, Code, Decimal128, Double, Long, MinKey, BSONRegExp } from 'mongodb';
import { expect, test, describe, it } from 'vitest';
import { elementType } from '../../../src/bson/element-type.js';
import { decodeValue, encodeValue, RawValue } from '../../../src/bson/scan.js';
import { isCondition, isKeyBound, isLossless, losslessValue } from '../../../src/bson/sent-value.js';
import { bsonValues } from './values.js';

/** A string with its length, and 12 bytes. */
const pointer = Buffer.concat([Buffer.from([2, 0, 0, 0]), Buffer.from('a\0'), Buffer.alloc(12, 7)]);
const noUtf8 = Buffer.from([2, 0, 0, 0, 0xff, 0]);

/** `{p: value}`. */
function nested(type: number, bytes: Uint8Array): RawValue {
  const size = Buffer.alloc(4);
  size.writeInt32LE(4 + 3 + bytes.length + 1);
  return new RawValue(
    elementType.document,
    Buffer.concat([size, Buffer.from([type]), Buffer.from('p\0'), bytes, Buffer.from([0])]),
  );
}

test.each([
  null,
  '',
  'ü',
  new BSONSymbol('s'),
  new Double(NaN),
  new Double(-0),
  Long.MIN_VALUE,
  Decimal128.fromString('-0E+3'),
  new MinKey(),
  new Code('x', { a: 1 }),
  { a: [{ b: 1 }] },
  new Map([
    ['2', 1],
    ['1', 2],
  ]),
])('%o can be sent unchanged', (value) => expect(isLossless(encodeValue(value))).toBe(true));

test('a DBPointer or a text that is not UTF-8 cannot be sent, not even inside a document', () => {
  for (const [type, bytes] of [
    [elementType.dbPointer, pointer],
    [elementType.string, noUtf8],
  ] as const) {
    expect(isLossless(new RawValue(type, bytes))).toBe(false);
    expect(isLossless(nested(type, bytes))).toBe(false);
  }
});

const conditions: unknown[] = [
  new BSONRegExp('^a', ''),
  new BSONRegExp('(', ''),
  { $gt: 'a' },
  { $x: 1 },
  { $id: 1 },
  { $ref: 'x' },
  { $db: 'x' },
  { $ref: 'x', $db: 'y' },
];
const hidden: unknown[] = [
  { a: 1, $gt: 1 },
  { a: { $gt: 1 } },
  { a: [{ $gt: 1 }] },
  { a: new Code('x', { $gt: 1 }) },
  { $id: 1, $ref: 'x' },
  { $ref: 1, $id: 1 },
  { $ref: 'x', $id: 1, $x: 1 },
  { $ref: 'x', $id: 1, $db: 1 },
  { $ref: 'x', $id: 1, $db: 'y', $x: 1 },
];
const plain: unknown[] = [
  {},
  { a: 1 },
  { a: new BSONRegExp('a', '') },
  { '': 1 },
  { $ref: 'x', $id: 1 },
  { $ref: 'x', $id: { $gt: 1 }, $db: 'y', a: 1 },
  '$gt',
  null,
  new Code('x', { $gt: 1 }),
];

describe('a value', () => {
  it.each(conditions)('would be a condition, and bounds no zone: %j', (value) => {
    expect([isCondition(encodeValue(value)), isKeyBound(encodeValue(value))]).toEqual([true, false]);
  });

  it.each(hidden)('means itself in a query, but bounds no zone: %j', (value) => {
    expect([isCondition(encodeValue(value)), isKeyBound(encodeValue(value))]).toEqual([false, false]);
  });

  it.each(plain)('means itself, and bounds zones: %j', (value) => {
    expect([isCondition(encodeValue(value)), isKeyBound(encodeValue(value))]).toEqual([false, true]);
  });
});

describe('decoding', () => {
  test('and encoding again gives the same bytes', () => {
    fc.assert(
      fc.property(bsonValues.map(encodeValue), (value) => {
        const again = encodeValue(losslessValue(value));
        expect(again.type).toBe(value.type);
        expect(Buffer.compare(again.bytes, value.bytes)).toBe(0);
      }),
    );
  });

  test('keeps the types of numbers', () => {
    expect(decodeValue(encodeValue(new Double(1)))).toEqual(new Double(1));
    expect(decodeValue(encodeValue(Long.fromNumber(1)))).toEqual(Long.fromNumber(1));
  });
});
