import { expect, it } from 'vitest';
import { ownCopy } from '../../../src/bson/own-copy.js';

it('copies documents of every size, each apart from the others', () => {
  const originals = [0, 5, 100, 1_000, 4_095, 4_096, 40_000, 30_000, 3_000, 3_000, 3_000].map((length, index) => Buffer.alloc(length, index));
  const copies = originals.map((original) => ownCopy(original));
  copies.forEach((copy, index) => expect(copy.equals(originals[index] as Buffer)).toBe(true));
  const [, , hundred] = copies;
  originals[2]?.fill(0xff);
  expect(hundred?.every((byte) => byte === 2)).toBe(true);
});

it('does not keep the memory of what it copies', () => {
  const message = Buffer.alloc(1_000_000);
  expect(ownCopy(message.subarray(0, 100)).buffer).not.toBe(message.buffer);
  expect(ownCopy(message.subarray(0, 100)).buffer.byteLength).toBeLessThan(100_000);
});
