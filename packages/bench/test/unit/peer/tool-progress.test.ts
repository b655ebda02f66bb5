import { describe, expect, it } from 'vitest';
import { idleProgress } from '@convoy/api/contract/progress';
import { clusterSyncProgress, readStatus } from '../../../src/peer/cluster-sync.js';
import { toolProgressOf } from '../../../src/peer/convoy-tool.js';

describe("ClusterSync's replies", () => {
  it('before a start have only a state', () => {
    expect(clusterSyncProgress(readStatus({ ok: true, state: 'idle' }))).toEqual({
      started: false,
      copiedFraction: 0,
      copied: false,
      canCommit: false,
      checked: true,
      paused: false,
      eventsApplied: 0,
    });
  });

  it('show the end of the clone from that of the initial sync', () => {
    const initialSync = { completed: false, cloneCompleted: false, clonedSizeBytes: 5, estimatedCloneSizeBytes: 20 };
    const status = { ok: true, state: 'running', eventsApplied: 7, initialSync };
    expect(clusterSyncProgress(readStatus(status))).toMatchObject({ started: true, copiedFraction: 0.25 });
    const cloned = { ...status, initialSync: { ...initialSync, cloneCompleted: true } };
    expect(clusterSyncProgress(readStatus(cloned))).toMatchObject({ copied: true, canCommit: false, eventsApplied: 7 });
  });

  it('of a failure are thrown with their message', () => {
    expect(() => readStatus({ ok: false, state: 'failed', error: 'no oplog' })).toThrow('no oplog');
    expect(() => readStatus('not found')).toThrow();
  });
});

it('the progress of several instances is that of the least advanced one', () => {
  const copying = {
    ...idleProgress(),
    state: 'RUNNING' as const,
    info: 'collection copy',
    canCommit: false,
    collectionCopy: { estimatedTotalBytes: 100, estimatedCopiedBytes: 30 },
    totalEventsApplied: 2,
  };
  const applying = { ...copying, info: 'change event application', canCommit: true };
  expect(toolProgressOf([applying, copying])).toEqual({
    started: true,
    copiedFraction: 0.6,
    copied: false,
    canCommit: false,
    checked: true,
    paused: false,
    eventsApplied: 4,
  });
  expect(toolProgressOf([applying, applying])).toMatchObject({ copied: true, canCommit: true });
});
