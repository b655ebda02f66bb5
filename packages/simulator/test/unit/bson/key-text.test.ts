import { Double, Long } from 'bson';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { decodeKeyString } from '../../../src/bson/key-string-decode.js';
import { encodeKeyString, encodeKeyText } from '../../../src/bson/key-string.js';
import { compareValues } from '../../../src/bson/compare.js';
import { value } from './arbitrary-value.js';

const edges = [0, 7, 31, 32, 33, 39, 40, 52, 53, 62, 63].flatMap((bits) =>
  [-1n, 0n, 1n].flatMap((step) => [2n ** BigInt(bits) + step, -(2n ** BigInt(bits)) + step]),
);
const longs = fc
  .oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(...edges.map((edge) => BigInt.asIntN(64, edge))),
  )
  .map((each) => Long.fromBigInt(each));

it('is the key string, one character per byte', () => {
  fc.assert(
    fc.property(value, (each) => {
      expect(encodeKeyText([each])).toBe(encodeKeyString([each]).toString('latin1'));
    }),
  );
});

it('orders longs as numbers, and by the same key as equal doubles', () => {
  fc.assert(
    fc.property(longs, longs, (a, b) => {
      const [left, right] = [encodeKeyText([a]), encodeKeyText([b])];
      expect(left < right ? -1 : left > right ? 1 : 0).toBe(compareValues(a, b));
      if (Number.isSafeInteger(a.toNumber())) expect(encodeKeyText([new Double(a.toNumber())])).toBe(left);
    }),
    { numRuns: 5000 },
  );
});

it('can be read back', () => {
  fc.assert(
    fc.property(longs, (each) => {
      const [read] = decodeKeyString(encodeKeyString([each]));
      expect(compareValues(read ?? null, each)).toBe(0);
    }),
  );
});
