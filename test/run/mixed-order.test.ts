import { expect, test } from 'vitest';
import { longest, mixed } from './mixed-order.js';
import { trackedFiles } from '../source-tree.js';

const same = (path: string): string => path;

test('the longest files are there, and begin first', () => {
  expect(longest.filter((path) => !trackedFiles().includes(path))).toEqual([]);
  const files = ['e2e/a.test.ts', ...[...longest].reverse(), 'packages/b.test.ts'];
  expect(mixed(files, same).slice(0, longest.length)).toEqual(longest);
});

test('each kind is spread over the whole run, in the order in which its files came', () => {
  const unit = ['p/test/unit/1', 'p/test/unit/2', 'p/test/unit/3', 'p/test/unit/4'] as const;
  const waiting = ['p/test/integration/a', 'p/test/integration/b'] as const;
  expect(mixed(['e2e/x', ...waiting, ...unit], same)).toEqual([
    unit[0],
    waiting[0],
    unit[1],
    'e2e/x',
    unit[2],
    waiting[1],
    unit[3],
  ]);
});

test('every file runs once, whatever there is', () => {
  for (const files of [[], ['e2e/a'], ['p/1', 'p/2'], ['e2e/a', 'e2e/b', 'p/1']])
    expect(mixed(files, same).sort()).toEqual(files);
});
