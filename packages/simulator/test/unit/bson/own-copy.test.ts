import { expect, it } from 'vitest';
import { keepDocuments, ownCopy } from '../../../src/bson/own-copy.js';

it('copies documents of every size, each apart from the others', () => {
  const originals = [0, 5, 100, 1_000, 4_095, 4_096, 40_000, 30_000, 3_000, 3_000, 3_000].map((length, index) =>
    Buffer.alloc(length, index),
  );
  const copies = originals.map((original) => ownCopy(original));
  copies.forEach((copy, index) => expect(Buffer.compare(copy, originals[index] as Buffer)).toBe(0));
  const [, , hundred] = copies;
  originals[2]?.fill(0xff);
  expect(hundred?.every((byte) => byte === 2)).toBe(true);
});

it('does not keep the memory of what it copies', () => {
  const message = Buffer.alloc(1_000_000);
  expect(ownCopy(message.subarray(0, 100)).buffer).not.toBe(message.buffer);
  expect(ownCopy(message.subarray(0, 100)).buffer.byteLength).toBeLessThan(100_000);
});

it('leaves documents where they are in a message that holds little else', () => {
  const message = Buffer.alloc(100_000);
  const documents = [message.subarray(100, 50_000), message.subarray(50_000)];
  keepDocuments(message, documents);
  for (const document of documents) expect(ownCopy(document)).toBe(document);
});

it('copies documents out of a message that holds much else', () => {
  const message = Buffer.alloc(100_000);
  const document = message.subarray(0, 5000);
  keepDocuments(message, [document]);
  expect(ownCopy(document)).not.toBe(document);
});
