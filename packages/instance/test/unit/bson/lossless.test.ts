import { BSONSymbol, Code, Decimal128, Double, Long, MinKey } from 'mongodb';
import { expect, test } from 'vitest';
import { elementType } from '../../../src/bson/element-type.js';
import { isLossless } from '../../../src/bson/lossless.js';
import { encodeValue, RawValue } from '../../../src/bson/scan.js';

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
