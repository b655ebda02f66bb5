import { expect, test } from 'vitest';
import { nextStepAfterFailure } from '@convoy/api/contract/next-step';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { errorLines } from '../../src/run-command.js';

test('a failure that ends a migration is followed by what to do, one that only refuses a start is not', () => {
  const failed = new ConvoyError('oplogHistoryLost', 'The oplog of shard0 is too short.');
  expect(errorLines(failed)).toEqual([failed.message, `Next: ${nextStepAfterFailure}`]);
  expect(errorLines(new ConvoyError('wrongCluster'))).toHaveLength(1);
});
