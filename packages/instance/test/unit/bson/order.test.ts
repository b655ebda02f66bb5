import fc from 'fast-check';
import { Decimal128, Double, Int32, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { idClass } from '../../../src/bson/id.js';
import { encodeValue, maxKey, minKey } from '../../../src/bson/scan.js';
import { bsonValues } from './values.js';

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
