import { expect, it } from 'vitest';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import { type ReportChanges, snapshot } from './snapshots.js';

it('has a row for an instance that the source does not need while it lives, and none once it is gone', () => {
  const expectedIds = ['a'];
  const wrong: ReportChanges = { state: 'INITIALIZING', failure: { error: 'shardUnknown', errorDescription: 'No.' } };
  const rowsOf = (changes: ReportChanges) =>
    aggregateProgress(snapshot({ a: { expectedIds }, shard9: changes }), null).instances;
  expect(rowsOf(wrong).map(({ id, problems }) => [id, ...problems])).toEqual([['a'], ['shard9', 'unexpected']]);
  expect(rowsOf({ ...wrong, fresh: false, silent_ms: 20_000 }).map(({ id }) => id)).toEqual(['a']);
});
