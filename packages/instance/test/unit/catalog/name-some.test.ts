import { describe, expect, it } from 'vitest';
import { nameFew, nameSome } from '../../../src/catalog/name-some.js';

const short = Array.from({ length: 8 }, (_, n) => `shop.c${n}`);
const long = Array.from({ length: 3 }, (_, n) => `services.a-collection-with-a-long-name-${n}`);

describe.each([nameSome, nameFew])('%o', (name) => {
  it('shows five names, and how many more there are', () => {
    expect(name(short.slice(0, 5))).toBe('shop.c0, shop.c1, shop.c2, shop.c3, shop.c4');
    expect(name(short)).toBe('shop.c0, shop.c1, shop.c2, shop.c3, shop.c4 and 3 more');
    expect(name([])).toBe('');
  });
});

it('shows fewer long names where there is little room, but one of any length', () => {
  expect(nameSome(long)).toBe(long.join(', '));
  expect(nameFew(long)).toBe(`${long[0]}, ${long[1]} and 1 more`);
  expect(nameFew(['x'.repeat(200), 'y'])).toBe(`${'x'.repeat(200)} and 1 more`);
});
