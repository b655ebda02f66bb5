import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { md5BlockBytesMax, md5Halves } from '../../../src/bson/md5-block.js';

it('gives the first half of the MD5 of every short length', () => {
  for (let length = 0; length <= md5BlockBytesMax; length += 1) {
    const input = Buffer.from(Array.from({ length }, (_, at) => (at * 37 + length) & 0xff));
    const expected = createHash('md5').update(input).digest();
    expect(md5Halves(input)).toEqual({ low: expected.readInt32LE(0), high: expected.readInt32LE(4) });
  }
});
