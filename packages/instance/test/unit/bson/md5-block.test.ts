import { createHash, randomBytes } from 'node:crypto';
import { expect, it } from 'vitest';
import { md5BlockBytesMax, md5Start } from '../../../src/bson/md5-block.js';

it('is the start of MD5 for every length that fits', () => {
  for (let length = 0; length <= md5BlockBytesMax; length += 1) {
    for (const input of [Buffer.alloc(length), Buffer.alloc(length, 0xff), randomBytes(length)]) {
      expect(md5Start(input), input.toString('hex')).toBe(createHash('md5').update(input).digest().readBigInt64LE(0));
    }
  }
});
