import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { md5BlockBytesMax, md5Halves, md5HalvesOfWords } from '../../../src/bson/md5-block.js';

it('gives the first half of the MD5 of every short length', () => {
  for (let length = 0; length <= md5BlockBytesMax; length += 1) {
    const input = Buffer.from(Array.from({ length }, (_, at) => (at * 37 + length) & 0xff));
    const expected = createHash('md5').update(input).digest();
    expect(md5Halves(input)).toEqual({ low: expected.readInt32LE(0), high: expected.readInt32LE(4) });
  }
});

it('gives the same for four words', () => {
  for (const words of [
    [0, 10, 5, 0],
    [1, 2, 3, 4],
    [-1, 0x7fffffff, -0x80000000, 0],
  ] satisfies [number, number, number, number][]) {
    const input = Buffer.alloc(16);
    words.forEach((word, index) => input.writeInt32LE(word, 4 * index));
    expect(md5HalvesOfWords(...words)).toEqual(md5Halves(input));
  }
});
