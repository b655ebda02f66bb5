import { expect, test } from 'vitest';
import { withJoinedStrings } from '../source-tree.js';
import { snippetPlaces } from './snippet.js';

test('finds a snippet however a formatter breaks its lines', () => {
  const text = 'before();\ncall(\n  first,\n  second,\n);\n';
  const [place, ...more] = snippetPlaces(text, 'call(first, second)');
  expect(more).toEqual([]);
  expect(text.slice(place?.from, place?.to)).toBe('call(\n  first,\n  second,\n)');
});

test('finds every place, and none of a snippet with another argument', () => {
  expect(snippetPlaces('f(a); f( a );', 'f(a)').map(({ from }) => from)).toEqual([0, 6]);
  expect(snippetPlaces('f(a, b);', 'f(a)')).toEqual([]);
});

test('a comma that separates counts, one that ends a list does not', () => {
  expect(snippetPlaces('[a, b]', '[a b]')).toEqual([]);
  expect(snippetPlaces('[a, b,]', '[a, b]')).toHaveLength(1);
});

test('joins the pieces of a long title', () => {
  expect(withJoinedStrings("it('a long ' +\n  'title')")).toBe("it('a long title')");
  expect(withJoinedStrings("'a' + b")).toBe("'a' + b");
});
