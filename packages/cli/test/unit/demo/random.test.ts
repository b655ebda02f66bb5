import { expect, test } from 'vitest';
import { Random } from '@convoy/cli/demo/random';

const draw = (seed: number) => {
  const random = new Random(seed);
  return Array.from({ length: 1_000 }, () => random.next());
};

test('equal seeds give equal numbers, different seeds different ones', () => {
  expect(draw(7)).toEqual(draw(7));
  expect(draw(7)).not.toEqual(draw(8));
});

test('numbers lie from 0 to below 1 and are spread evenly', () => {
  const numbers = draw(42);
  expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
  expect(numbers.reduce((sum, number) => sum + number, 0) / numbers.length).toBeCloseTo(0.5, 1);
});

test('below and pick stay within their bounds', () => {
  const random = new Random(1);
  const drawn = new Set(Array.from({ length: 200 }, () => random.below(3)));
  expect([...drawn].sort()).toEqual([0, 1, 2]);
  expect(['a', 'b']).toContain(random.pick(['a', 'b']));
});
