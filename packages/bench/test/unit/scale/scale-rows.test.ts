import { expect, it } from 'vitest';
import { upperMedian, scaleRows } from '../../../src/scale/scale-rows.js';

const measured = [16, 64, 256].map((size) => ({
  size,
  stats: [
    ['constant', 5, 'ms'],
    ['linear', 3 * size, '1/s'],
    ['quadratic', size * size, 'B'],
    ['nothing', 0, '%'],
    ...(size === 256 ? [['only in the largest', 1, ''] as const] : []),
  ] as const,
}));

it('fleets of several sizes show how each value grows', () => {
  const exponents = scaleRows('members', measured).filter(({ case: name }) => name === 'members, growth 16 → 256');
  expect(exponents.map(({ metric }) => metric)).toEqual(['constant', 'linear', 'quadratic']);
  expect(exponents.map(({ value }) => Math.round(value * 1e6) / 1e6)).toEqual([0, 1, 2]);
});

it('every measured value is a row of its fleet, and one fleet has no growth', () => {
  const rows = scaleRows('members', measured.slice(0, 1));
  expect(rows.map((row) => [row.case, row.metric, row.value])).toEqual([
    ['members, 16 instances', 'constant', 5],
    ['members, 16 instances', 'linear', 48],
    ['members, 16 instances', 'quadratic', 256],
    ['members, 16 instances', 'nothing', 0],
  ]);
});

it('the upperMedian is the upper one of two in the middle', () => {
  expect([upperMedian([3, 1, 2]), upperMedian([4, 1, 2, 3]), upperMedian([])]).toEqual([2, 3, Number.NaN]);
});
