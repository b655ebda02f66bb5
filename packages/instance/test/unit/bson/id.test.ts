import fc from 'fast-check';
import { BSON, BSONRegExp, BSONSymbol, Decimal128, Double, Int32, Long } from 'mongodb';
import { describe, expect, test } from 'vitest';
import { elementType } from '../../../src/bson/element-type.js';
import { compareIds, idClass, idOrNull, isSendable, mayBound } from '../../../src/bson/id.js';
import { compareRaw } from '../../../src/bson/order.js';
import { encodeValue, maxKey, minKey, nullValue, RawValue } from '../../../src/bson/scan.js';
import { bsonValues, numberValues } from './values.js';

const values = bsonValues.map(encodeValue);

/** A string of one byte that is no UTF-8: the driver cannot send it in a query. */
const illFormed = new RawValue(elementType.string, Buffer.from([2, 0, 0, 0, 0xff, 0]));

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

test('the _id of a document without one counts as null', () => {
  expect(idOrNull(BSON.serialize({ a: 1 }))).toBe(nullValue);
  expect(idOrNull(BSON.serialize({ a: 1, _id: 7 }))).toEqual(encodeValue(7));
});

describe('an _id bounds two ranges', () => {
  test.each([1, 'a', { a: 'x' }, new BSONRegExp('^a')])('in the simple collation: %o', (id) => {
    expect(mayBound(encodeValue(id), false)).toBe(true);
  });

  test('but not if it cannot be sent, or if the range before it would end there', () => {
    expect(isSendable(illFormed)).toBe(false);
    expect(mayBound(illFormed, false)).toBe(false);
    expect(isSendable(maxKey)).toBe(true);
    expect(mayBound(maxKey, false)).toBe(false);
    expect(mayBound(minKey, false)).toBe(true);
  });

  test('under a collation only if it contains no string', () => {
    expect(['a', { a: ['y'] }].map((id) => mayBound(encodeValue(id), true))).toEqual([false, false]);
    expect([1, { a: [2] }].map((id) => mayBound(encodeValue(id), true))).toEqual([true, true]);
  });
});

test('_ids have the order of values', () => {
  fc.assert(
    fc.property(values, values, (a, b) => {
      expect(Math.sign(compareIds(a, b))).toBe(Math.sign(compareRaw(a, b)));
    }),
  );
});
