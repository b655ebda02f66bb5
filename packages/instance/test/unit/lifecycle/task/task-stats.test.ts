import { expect, it } from 'vitest';
import { lagBehind } from '../../../../src/lifecycle/task/task-stats.js';

/** Cluster time of a second. */
const at = (seconds: number): bigint => BigInt(seconds) << 32n;

it.each([
  ['of a source that goes on', at(100), at(90), null, 10],
  ['of what is ahead', at(100), at(101), null, 0],
  ['up to the time of a commit', at(200), at(90), at(100), 10],
  ['past the time of a commit, however long its other steps take', at(900), at(100), at(100), 0],
  ['below a commit time that the source has yet to show', at(95), at(90), at(100), 5],
])('the lag %s', (_what, sourceTime, reached, commitTime, lag) => {
  expect(lagBehind(sourceTime, reached, commitTime)).toBe(lag);
});
