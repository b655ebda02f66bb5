import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeUtf8, encodeUtf8, isWellFormed } from '../../../src/bson/utf8.js';

const textOf = (bytes: Uint8Array): string => decodeUtf8(Buffer.from(bytes), 0, bytes.length);
/** High bytes, and the first and last bytes of characters. */
const bytes = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x41, 0x80, 0xa9, 0xc3, 0xe2, 0x82, 0xac, 0xed, 0xa0, 0xef, 0xbf, 0xbd, 0xf0, 0xff),
      fc.nat(0xff),
    ),
  )
  .map((codes) => Uint8Array.from(codes));

test('any bytes are restored from their text', () => {
  fc.assert(
    fc.property(bytes, (given) => {
      expect([...encodeUtf8(textOf(given))]).toEqual([...given]);
    }),
    { numRuns: 500 },
  );
});

test('UTF-8 is decoded and encoded as usual, even a replacement character', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(textOf(Buffer.from(text))).toBe(text);
      expect(encodeUtf8(text)).toEqual(Buffer.from(text));
    }),
  );
  expect(textOf(Buffer.from('a\ufffdb'))).toBe('a\ufffdb');
});

test('a text shows whether its bytes are UTF-8', () => {
  expect(isWellFormed(textOf(Buffer.from('ä\u{1f600}')))).toBe(true);
  expect(isWellFormed(textOf(Uint8Array.of(0x61, 0xff)))).toBe(false);
});
