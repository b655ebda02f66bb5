import { expect, it } from 'vitest';
import { Turns } from '../../../../src/verify/embedded/turns.js';

it('gives each its turn before any gets another, whatever is added and removed', () => {
  const turns = new Turns<string>((name) => name);
  expect(turns.next(['a', 'b', 'c', 'd', 'e'], 2)).toEqual(['a', 'b']);
  expect(turns.next(['b', 'c', 'd', 'e'], 2)).toEqual(['c', 'd']);
  expect(turns.next(['b', 'c', 'e', 'f'], 3)).toEqual(['e', 'f']);
  expect(turns.next(['b', 'c', 'e', 'f'], 3)).toEqual(['b', 'c', 'e']);
  expect(turns.next([], 3)).toEqual([]);
});

it('respects the weight, but returns at least one', () => {
  const turns = new Turns<{ name: string; weight: number }>(({ name }) => name);
  const things = [
    { name: 'a', weight: 1 },
    { name: 'b', weight: 2 },
    { name: 'c', weight: 9 },
  ];
  const next = () => turns.next(things, 3, ({ weight }) => weight).map(({ name }) => name);
  expect([next(), next(), next()]).toEqual([['a', 'b'], ['c'], ['a', 'b']]);
});
