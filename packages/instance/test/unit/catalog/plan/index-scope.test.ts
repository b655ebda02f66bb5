import { buildIndexesValues } from '@convoy/api/contract/start-request';
import { expect, it } from 'vitest';
import { finalIndexScope, isBuiltAfterCopy } from '../../../../src/catalog/plan/index-scope.js';

it('every value of buildIndexes says which indexes the destination gets, and when', () => {
  expect(buildIndexesValues.map((value) => [value, finalIndexScope(value), isBuiltAfterCopy(value)])).toEqual([
    ['beforeDataCopy', 'all', false],
    ['afterDataCopy', 'all', true],
    ['excludeHashed', 'notHashed', false],
    ['excludeHashedAfterCopy', 'notHashed', true],
    ['never', 'shardKey', false],
  ]);
});
