import { describe, expect, test } from 'vitest';
import type { CommitBlocker } from '@convoy/api/contract/commit-blocker';
import { blockerGroups, namesText } from '../../../src/dashboard/views/blocker-groups.js';
import { cutOverView } from '../../../src/dashboard/views/cut-over-view.js';
import { stagedMessage } from './staged-message.js';

const behind = (instance: string, value: number): CommitBlocker => ({
  instance,
  reason: 'verifierLag',
  value,
  limit: 30,
  description: `the verifier is ${value} s behind`,
});
const copying: CommitBlocker = {
  instance: 'a',
  reason: 'copying',
  value: null,
  limit: null,
  description: 'collections are still being copied',
};
const silent: CommitBlocker = { ...copying, instance: 'b', reason: 'silent', description: 'no heartbeat for 9 s' };

describe('what a commit waits for', () => {
  test('is one entry per reason', () => {
    expect(blockerGroups([behind('a', 111), behind('b', 111)])).toEqual([
      { instances: ['a', 'b'], description: 'the verifier is 111 s behind' },
    ]);
  });

  test('names the instance that is worst where values differ', () => {
    expect(blockerGroups([behind('a', 40), behind('b', 111)])[0]?.description).toBe('b: the verifier is 111 s behind');
  });

  test('during the copy only what does not end by itself is shown', () => {
    expect(blockerGroups([copying, behind('a', 40), silent])).toEqual([
      { instances: ['b'], description: 'no heartbeat for 9 s' },
    ]);
    expect(blockerGroups(null)).toEqual([]);
  });

  test('a list of names ends with a count where it is long', () => {
    expect([['a'], ['a', 'b'], ['a', 'b', 'c', 'd'], ['a', 'b', 'c', 'd', 'e']].map(namesText)).toEqual([
      'a',
      'a and b',
      'a, b, c and d',
      'a, b, c and 2 others',
    ]);
  });

  test('writes to the source are a point only once a commit is near: during the copy they are usual', () => {
    const sourceWrites = { windowSeconds: 10, writes: 5, namespaces: [], lastWriteAt: null };
    const labels = (progress: Parameters<typeof stagedMessage>[0]): string[] =>
      cutOverView(stagedMessage({ sourceWrites, ...progress }), true, true).checks.map(({ label }) => label);
    const ready = { info: 'change event application', percent: 100, canCommit: true };
    expect(labels({})).not.toContain('Nobody writes to the source');
    expect(labels(ready)).toContain('Nobody writes to the source');
    expect(labels({ ...ready, canCommit: false, state: 'COMMITTING' })).toContain('Nobody writes to the source');
  });
});
