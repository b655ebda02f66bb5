import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SnappyError, snappyCompress, snappyUncompress } from '../../../src/wire/snappy.js';

describe('snappy', () => {
  it('reads each kind of element: literals, copies with offsets of one and two bytes, also into themselves', () => {
    expect(snappyUncompress(Buffer.from([5, 4 << 2, 97, 98, 99, 100, 101]), 5).toString()).toBe('abcde');
    expect(snappyUncompress(Buffer.from([9, 0, 97, (7 << 2) | 2, 1, 0]), 9).toString()).toBe('aaaaaaaaa');
    expect(snappyUncompress(Buffer.from([8, 3 << 2, 97, 98, 99, 100, 1, 4]), 8).toString()).toBe('abcdabcd');
  });

  it('gives back what it has packed, and packs repetitions well', () => {
    const content = Buffer.from('the same words again and again, '.repeat(10_000));
    const packed = snappyCompress(content);
    expect(packed.length).toBeLessThan(content.length / 10);
    expect(snappyUncompress(packed, content.length).equals(content)).toBe(true);
  });

  it('property: any content comes back', () => {
    const pieces = fc.array(fc.tuple(fc.uint8Array({ maxLength: 90 }), fc.integer({ min: 1, max: 400 })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(pieces, (parts) => {
        const content = Buffer.concat(
          parts.flatMap(([bytes, times]) => Array.from({ length: times }, () => Buffer.from(bytes))),
        );
        expect(snappyUncompress(snappyCompress(content), content.length).equals(content)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('property: arbitrary bytes are content of at most the allowed length, or an error', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          expect(snappyUncompress(Buffer.from(bytes), 5000).length).toBeLessThanOrEqual(5000);
        } catch (error) {
          expect(error).toBeInstanceOf(SnappyError);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
