import fc from 'fast-check';
import { BSONSymbol, Decimal128, Double, Int32, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { idClass } from '../../../src/bson/id.js';
import { decodeValue, encodeValue, maxKey, minKey } from '../../../src/bson/scan.js';
import { losslessValue } from '../../../src/bson/sent-value.js';
import { bsonValues, numberValues } from './values.js';

const compare = (a: unknown, b: unknown) => Math.sign(compareRaw(encodeValue(a), encodeValue(b)));
const values = bsonValues.map(encodeValue);

describe('the order of values', () => {
  test('is total: antisymmetric and transitive', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        expect(Math.sign(compareRaw(a, b))).toBe(-Math.sign(compareRaw(b, a)) + 0);
        if (compareRaw(a, b) <= 0 && compareRaw(b, c) <= 0) expect(compareRaw(a, c)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 3_000 },
    );
  });

  test('has every value between MinKey and MaxKey', () => {
    fc.assert(fc.property(values, (value) => compareRaw(minKey, value) <= 0 && compareRaw(value, maxKey) <= 0));
  });

  test.each([
    [null, new Int32(-1)],
    [new Double(NaN), new Double(-Infinity)],
    [Long.fromBigInt(2n ** 53n), Long.fromBigInt(2n ** 53n + 1n)],
    [new Double(2 ** 53), Long.fromBigInt(2n ** 53n + 1n)],
    [Long.MAX_VALUE, new Double(2 ** 63)],
    [new Double(0.1), Decimal128.fromString('0.11')],
    [Decimal128.fromString('0.1'), new Double(0.1)],
    // Doubles have more digits than the 34 of a decimal.
    [Decimal128.fromString('0.1000000000000000055511151231257827'), new Double(0.1)],
    [new Double(0.1), Decimal128.fromString('0.1000000000000000055511151231257828')],
    [Decimal128.fromString('1.000000000000000052504760255204420E+300'), new Double(1e300)],
    [new Int32(9), 'a'],
    ['a', 'b'],
    ['a', 'aa'],
    ['\uffff', '\u{1f600}'],
    ['z', {}],
    [{ b: 1 }, { a: 'x' }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{}, []],
    [
      [1, 2],
      [1, 3],
    ],
    [[], Buffer.from('')],
    [Buffer.from('b'), Buffer.from('aa')],
    [false, true],
    [true, new Date(0)],
    [new Date(-1), new Date(0)],
  ])('%o is below %o', (low, high) => {
    expect(compare(low, high)).toBe(-1);
    expect(compare(high, low)).toBe(1);
    expect(idClass(encodeValue(low), false)).not.toBe(idClass(encodeValue(high), false));
  });
});

describe('the class of an _id', () => {
  test('is shared exactly by the values that the order finds equal', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        expect(idClass(a, false) === idClass(b, false)).toBe(compareRaw(a, b) === 0);
      }),
      { numRuns: 5_000 },
    );
  });

  test('of numbers is their value', () => {
    const numbers = numberValues.map(encodeValue);
    fc.assert(
      fc.property(numbers, numbers, (a, b) => {
        expect(idClass(a, false) === idClass(b, false)).toBe(compareRaw(a, b) === 0);
      }),
      { numRuns: 5_000 },
    );
  });

  test.each([
    [new Int32(1), new Double(1), Long.fromNumber(1), Decimal128.fromString('1.00')],
    [new Double(0.5), Decimal128.fromString('0.50')],
    [new Double(2 ** 63), Decimal128.fromString('9223372036854775808')],
    [new Double(-0), new Int32(0), Decimal128.fromString('-0E+3')],
    [new Double(NaN), Decimal128.fromString('NaN')],
    [new BSONSymbol('a'), 'a'],
    [{ a: new Int32(1) }, { a: new Double(1) }],
  ])('%o and its equals have one class', (first, ...others) => {
    for (const other of others) expect(idClass(encodeValue(other), false)).toBe(idClass(encodeValue(first), false));
  });

  test('under a collation is the same for all values with a string, and distinct for others', () => {
    const collated = ['a', 'B', new BSONSymbol('x'), { a: 'x' }, { a: ['y'] }].map((value) =>
      idClass(encodeValue(value), true),
    );
    expect(new Set(collated).size).toBe(1);
    expect(idClass(encodeValue(1), true)).not.toBe(idClass(encodeValue(2), true));
  });
});

describe('decoding', () => {
  test('and encoding again gives the same bytes', () => {
    fc.assert(
      fc.property(values, (value) => {
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
