import { expect, test } from 'vitest';
import { compareRaw } from '../../../src/bson/order.js';
import { minKey } from '../../../src/bson/scan.js';
import { evenBounds } from '../../../src/cluster/sample-ids.js';
import { rawOf } from '../model/parts.js';

test('splits a sample into ranges of equal size, in any order of the sample', () => {
  const sample = [7, 1, 5, 3, 8, 2, 6, 4].map((value) => rawOf(value));
  expect(evenBounds(sample, 4)).toEqual([3, 5, 7].map((value) => rawOf(value)));
  expect(evenBounds(sample, 1)).toEqual([]);
});

test('makes no empty range: bounds ascend, and the first is above the smallest key', () => {
  const bounds = evenBounds([minKey, rawOf(1), rawOf(1), rawOf(1), rawOf(2)], 5);
  expect(bounds).toEqual([rawOf(1), rawOf(2)]);
  expect(bounds.every((bound) => compareRaw(minKey, bound) < 0)).toBe(true);
  expect(evenBounds([], 3)).toEqual([]);
});
