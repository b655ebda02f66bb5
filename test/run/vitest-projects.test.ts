import { expect, test } from 'vitest';
import config from '../../vitest.config.js';
import { readText, trackedFiles } from '../source-tree.js';

const projects = (config.test?.projects ?? []) as { test: { isolate?: boolean; sequence?: { groupOrder?: number } } }[];

test('a whole run is one project, and any other has the unit tests first', () => {
  const orders = projects.map(({ test: { sequence } }) => sequence?.groupOrder ?? 0);
  expect(orders).toEqual(process.env['CONVOY_TEST_TOGETHER'] === '1' ? [0] : [0, 1]);
});

test('no test replaces modules: many files run in one process, which loads each module once', () => {
  expect(projects.map(({ test: { isolate } }) => isolate)).not.toContain(true);
  const replacing = trackedFiles().filter(
    (path) => path.endsWith('.ts') && /\bvi\.(mock|doMock|resetModules)\(/.test(readText(path)),
  );
  expect(replacing).toEqual([]);
});
