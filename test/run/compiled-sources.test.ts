import { expect, test } from 'vitest';
import { compiledModule } from './compiled-sources.js';

test.each([
  ['@convoy/api/errors/table', 'e2e/a.test.ts', '/r/packages/api/dist/errors/table.js'],
  ['@convoy/simulator', 'e2e/a.test.ts', '/r/packages/simulator/dist/simulator.js'],
  ['@convoy/simulator/internal/bson/decode', 'e2e/a.test.ts', '/r/packages/simulator/dist/bson/decode.js'],
  ['../../src/node/clock.js', 'packages/simulator/test/unit/a.test.ts', '/r/packages/simulator/dist/node/clock.js'],
  ['./support.js', 'packages/simulator/test/unit/a.test.ts', null],
  ['../../../test/seed.js', 'packages/simulator/test/unit/a.test.ts', null],
  ['mongodb', 'packages/simulator/test/unit/a.test.ts', null],
  ['@convoy/api/errors/table', undefined, '/r/packages/api/dist/errors/table.js'],
  ['./support.js', undefined, null],
])('%s, imported by %s, was compiled to %s', (source, importer, expected) => {
  expect(compiledModule('/r/', source, importer === undefined ? undefined : `/r/${importer}`)).toBe(expected);
});
