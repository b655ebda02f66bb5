import { expect, test } from 'vitest';
import config from '../vitest.config.js';
import { readText, trackedFiles } from './source-tree.js';

const projects = (config.test?.projects ?? []) as { test: { isolate?: boolean; sequence?: { groupOrder?: number } } }[];

test('all tests run in one call, those first that need no cluster', () => {
  expect(projects.map(({ test: { sequence } }) => sequence?.groupOrder ?? 0)).toEqual([0, 1]);
});

test('no test replaces modules: many files run in one process, which loads each module once', () => {
  expect(projects.map(({ test: { isolate } }) => isolate)).toEqual([false, false]);
  const replacing = trackedFiles().filter(
    (path) => path.endsWith('.ts') && /\bvi\.(mock|doMock|resetModules)\(/.test(readText(path)),
  );
  expect(replacing).toEqual([]);
});
