import { describe, expect, it } from 'vitest';
import { median } from '../../src/benchmark.js';
import { rangesOf } from '../../src/copy/loop-order.js';

describe('medians and ranges', () => {
  it('use the middle value, the lower one of two', () => {
    expect(median([3, 1, 2], (value) => value)).toBe(2);
    expect(median([4, 1], (value) => value)).toBe(1);
    expect(() => median([], Number)).toThrow(RangeError);
  });

  it('cover all documents once', () => {
    expect(rangesOf(10, 3)).toEqual([
      [0, 3],
      [3, 6],
      [6, 10],
    ]);
  });
});
