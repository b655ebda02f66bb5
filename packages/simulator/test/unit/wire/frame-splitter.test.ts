import { describe, expect, it } from 'vitest';
import { FrameSplitter } from '../../../src/wire/frame-splitter.js';
import { messageBytesMax, ProtocolError } from '../../../src/wire/protocol.js';

function frame(length: number, fill: number): Buffer {
  const bytes = Buffer.alloc(length, fill);
  bytes.writeInt32LE(length, 0);
  return bytes;
}

describe('FrameSplitter', () => {
  const frames = [frame(16, 1), frame(40, 2), frame(17, 3)];
  const all = Buffer.concat(frames);

  it.each([1, 2, 3, 5, 16, 1000])('finds the same messages in pieces of %i bytes', (size) => {
    const splitter = new FrameSplitter();
    const found: Buffer[] = [];
    for (let at = 0; at < all.length; at += size) found.push(...splitter.push(all.subarray(at, at + size)));
    expect(found).toEqual(frames);
  });

  it('refuses lengths that cannot be', () => {
    for (const length of [0, 15, messageBytesMax + 1]) {
      const bytes = Buffer.alloc(4);
      bytes.writeInt32LE(length, 0);
      expect(() => new FrameSplitter().push(bytes)).toThrow(ProtocolError);
    }
  });
});
