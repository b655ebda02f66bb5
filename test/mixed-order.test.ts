import { expect, test } from 'vitest';
import { longest, mixed } from './mixed-order.js';
import { trackedFiles } from './source-tree.js';

const same = (path: string): string => path;

test('the longest files are there, and begin first', () => {
  expect(longest.filter((path) => !trackedFiles().includes(path))).toEqual([]);
  const files = ['e2e/a.test.ts', ...[...longest].reverse(), 'packages/b.test.ts'];
  expect(mixed(files, same).slice(0, longest.length)).toEqual(longest);
});

test('fleets are spread among the others, in the order in which they came', () => {
  const files = ['e2e/a', 'e2e/b', 'e2e/c', 'p/1', 'p/2', 'p/3', 'p/4', 'p/5', 'p/6'];
  expect(mixed(files, same)).toEqual(['e2e/a', 'p/1', 'p/2', 'e2e/b', 'p/3', 'p/4', 'e2e/c', 'p/5', 'p/6']);
});

test('every file runs once, whatever there is', () => {
  for (const files of [[], ['e2e/a'], ['p/1', 'p/2'], ['e2e/a', 'e2e/b', 'p/1']])
    expect(mixed(files, same).sort()).toEqual(files);
});
