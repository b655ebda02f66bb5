import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareValues } from '../../../src/bson/compare.js';
import { encodeKeyString } from '../../../src/bson/key-string.js';
import { number, value } from './arbitrary-value.js';

const runs = { numRuns: 2000 };
const sign = (order: number): number => Math.sign(order);

describe("the server's order of values", () => {
  it('is antisymmetric and reflexive', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(sign(compareValues(a, b))).toBe(-sign(compareValues(b, a)) + 0);
        expect(compareValues(a, a)).toBe(0);
      }),
      runs,
    );
  });

  it('is transitive', () => {
    fc.assert(
      fc.property(fc.oneof(fc.tuple(number, number, number), fc.tuple(value, value, value)), (values) => {
        const [a, b, c] = values.sort((left, right) => compareValues(left, right));
        expect(compareValues(a, b)).toBeLessThanOrEqual(0);
        expect(compareValues(b, c)).toBeLessThanOrEqual(0);
        expect(compareValues(a, c)).toBeLessThanOrEqual(0);
      }),
      runs,
    );
  });
});

describe('key strings', () => {
  it('order as the values do', () => {
    fc.assert(
      fc.property(fc.oneof(fc.tuple(number, number), fc.tuple(value, value)), ([a, b]) => {
        expect(Buffer.compare(encodeKeyString([a]), encodeKeyString([b]))).toBe(sign(compareValues(a, b)));
      }),
      { numRuns: 5000 },
    );
  });

  it('order lists, with descending places reversed', () => {
    fc.assert(
      fc.property(
        fc.tuple(number, number),
        fc.tuple(value, value),
        fc.boolean(),
        fc.boolean(),
        ([a1, b1], [a2, b2], down1, down2) => {
          const descending = [down1, down2];
          const expected =
            sign(compareValues(a1, b1)) * (down1 ? -1 : 1) || sign(compareValues(a2, b2)) * (down2 ? -1 : 1);
          expect(Buffer.compare(encodeKeyString([a1, a2], descending), encodeKeyString([b1, b2], descending))).toBe(
            expected + 0,
          );
        },
      ),
      runs,
    );
  });
});
