import { blockedBy, type OwnBlocker } from '@convoy/api/contract/commit-blocker';
import { expect, test } from 'vitest';
import { lastingMismatches, type VerificationStats } from '../../../../src/lifecycle/task/verification-stats.js';

test('counts the documents that block a commit because they differ, of all tasks', () => {
  const side = {
    estimatedDocumentCount: 0,
    hashedDocumentCount: 0,
    lagTimeSeconds: 0,
    phase: 'stream hashing',
    scannedCollectionCount: 0,
    totalCollectionCount: 0,
  } as const;
  const task = (blocker: OwnBlocker | null): VerificationStats => ({ blocker, source: side, destination: side });
  const differ = (value: number): OwnBlocker => blockedBy('mismatches', 'they differ', { value, limit: 0 });
  const others = [null, task(null), task(blockedBy('verifying', 'is not done', { value: 9, limit: 0 }))];
  expect(lastingMismatches([])).toBe(0);
  expect(lastingMismatches(others)).toBe(0);
  expect(lastingMismatches([...others, task(differ(2)), task(differ(3))])).toBe(5);
});
