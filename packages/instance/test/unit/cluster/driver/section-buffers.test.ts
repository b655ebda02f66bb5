import { describe, expect, test } from 'vitest';
import { SectionBuffers } from '../../../../src/cluster/driver/section-buffers.js';

const mebibyte = 2 ** 20;

describe('buffers for the sections of messages', () => {
  test('are reused once they were returned, and never twice at a time', () => {
    const buffers = new SectionBuffers();
    const [first, second] = [buffers.take(mebibyte), buffers.take(mebibyte)];
    expect(first === second).toBe(false);
    buffers.give(first);
    expect(buffers.take(100) === first).toBe(true);
    expect(buffers.take(100) === first).toBe(false);
  });

  test('are as large as requested', () => {
    const buffers = new SectionBuffers();
    const small = buffers.take(10);
    buffers.give(small);
    expect(buffers.take(small.length + 1).length).toBeGreaterThan(small.length);
    expect(buffers.take(48_000_000).length).toBeGreaterThanOrEqual(48_000_000);
  });

  test('are pooled only in small numbers, and never if large', () => {
    const buffers = new SectionBuffers();
    const large = buffers.take(16 * mebibyte);
    buffers.give(large);
    expect(buffers.take(mebibyte) === large).toBe(false);
    const many = Array.from({ length: 20 }, () => buffers.take(mebibyte));
    for (const buffer of many) buffers.give(buffer);
    const again = new Set(Array.from({ length: 20 }, () => buffers.take(mebibyte)));
    expect(many.filter((buffer) => again.has(buffer)).length).toBe(4);
  });
});
