import fc from 'fast-check';
import { progressSchema } from '@convoy/api/contract/progress';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { describe, expect, it } from 'vitest';
import { isReadyToCommit, progressOf, type ProgressSource } from '../../../src/lifecycle/progress-view.js';
import type { ShareFigures } from '../../../src/lifecycle/share-sync.js';
import type { MigrationRecord } from '../../../src/store/migration-record.js';
import type { ShareRecord } from '../../../src/store/share-record.js';

const record: MigrationRecord = {
  release: '1.9.0',
  options: parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } }),
  digest: 'd',
  source: { name: 'cluster0', clusterId: 'aa' },
  destination: { name: 'cluster1', clusterId: 'bb' },
  access: 'direct',
  shareIds: ['shard0', 'shard1'],
  phase: 'syncing',
  failure: null,
  leaderEpoch: 1,
  catalogEpoch: 1,
  startTime: null,
  estimatedTotalBytes: 1000,
  commit: null,
  canWrite: false,
  balancers: null,
  warnings: [],
};

const share: ShareRecord = {
  _id: 'shard0',
  epoch: 1,
  owner: { syncID: 'shard0', incarnation: '1' },
  started: true,
  paused: false,
  commitRequested: false,
  checkpoint: null,
  begun: null,
  lastWrite: null,
  copied: { bytes: 300, documents: 3 },
  copyDone: false,
  eventsApplied: 7,
  drained: null,
  sessions: [],
};

const figures: ShareFigures = {
  copiedBytes: 400,
  copiedDocuments: 4,
  copyDone: false,
  eventsApplied: 9,
  followsStream: true,
  lag_seconds: 5,
  doubtfulKeys: 0,
  bufferedBytes: 0,
  partitions: { waiting: 0, starting: 0, copying: 0, done: 0 },
  writesAboveCeiling: 0,
};

function sourceOf(changes: Partial<ProgressSource> = {}, recordChanges: Partial<MigrationRecord> = {}): ProgressSource {
  return {
    state: 'RUNNING',
    view: { record: { ...record, ...recordChanges }, shares: new Map([['shard0', share]]) },
    ownIds: ['shard0'],
    figures: [figures],
    syncID: 'shard0',
    leader: { id: 'shard1', syncID: 'leader' },
    directionMapping: { Source: 'cluster0: a:1', Destination: 'cluster1: b:1' },
    canCommit: false,
    indexBuilding: null,
    warnings: [],
    ...changes,
  };
}

describe('the estimate of copied bytes', () => {
  it('is 0 of 1 before the copy', () => {
    expect(progressOf(sourceOf({}, { phase: 'starting', estimatedTotalBytes: null })).collectionCopy).toEqual({ estimatedTotalBytes: 1, estimatedCopiedBytes: 0 });
  });

  it('is of this instance, against the total of all', () => {
    expect(progressOf(sourceOf()).collectionCopy).toEqual({ estimatedTotalBytes: 1000, estimatedCopiedBytes: 400 });
  });

  it('is the durable one until the stations run', () => {
    expect(progressOf(sourceOf({ figures: [] })).collectionCopy?.estimatedCopiedBytes).toBe(300);
  });

  it('adds the shares of a lone instance, which knows the total as soon as all is copied', () => {
    const done = { ...figures, copyDone: true, copiedBytes: 700 };
    const lone = { ownIds: ['shard0', 'shard1'], figures: [done, { ...done, copiedBytes: 800 }] };
    expect(progressOf(sourceOf(lone)).collectionCopy).toEqual({ estimatedTotalBytes: 1500, estimatedCopiedBytes: 1500 });
  });

  it('of several instances adds up to the total that the leader sets at the end', () => {
    const copied = [600, 900];
    const reported = copied.map((copiedBytes, index) => {
      const done = { ...figures, copyDone: true, copiedBytes };
      return progressOf(sourceOf({ ownIds: [`shard${index}`], figures: [done] }, { estimatedTotalBytes: 1500 })).collectionCopy;
    });
    expect(reported.reduce((sum, one) => sum + (one?.estimatedCopiedBytes ?? 0), 0)).toBe(1500);
  });

  it('of a source without documents ends at 1 of 1, counted by one instance alone', () => {
    const done = { ...figures, copyDone: true, copiedBytes: 0 };
    const reported = ['shard0', 'shard1'].map((id) => progressOf(sourceOf({ ownIds: [id], figures: [done] }, { estimatedTotalBytes: 1 })).collectionCopy);
    expect(reported).toEqual([
      { estimatedTotalBytes: 1, estimatedCopiedBytes: 1 },
      { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 },
    ]);
  });

  it('is never more than the total, whatever was estimated and copied', () => {
    const bytes = fc.nat({ max: 3000 });
    fc.assert(
      fc.property(fc.option(bytes), bytes, fc.boolean(), fc.boolean(), (estimatedTotalBytes, copiedBytes, copyDone, lone) => {
        const ownIds = lone ? ['shard0', 'shard1'] : ['shard0'];
        const copy = progressOf(sourceOf({ ownIds, figures: [{ ...figures, copiedBytes, copyDone }] }, { estimatedTotalBytes })).collectionCopy;
        expect(copy?.estimatedCopiedBytes).toBeLessThanOrEqual(copy?.estimatedTotalBytes ?? 0);
        if (lone && copyDone) expect(copy?.estimatedCopiedBytes).toBe(copy?.estimatedTotalBytes);
      }),
    );
  });
});

describe('progress', () => {
  it.each([
    ['starting', {}, { phase: 'starting' as const }, 'initializing', null],
    ['copying', {}, {}, 'collection copy', null],
    ['applying', { figures: [{ ...figures, copyDone: true }] }, {}, 'change event application', 'steady state'],
    ['catching up', { figures: [{ ...figures, copyDone: true, lag_seconds: 31 }] }, {}, 'change event application', 'collection copy drain'],
    ['paused', { state: 'PAUSED' as const }, {}, 'paused', null],
    ['committing', { state: 'COMMITTING' as const }, { phase: 'committing' as const }, 'waiting for commit to complete', null],
    ['committed', { state: 'COMMITTED' as const }, { phase: 'committed' as const }, 'commit completed', null],
  ])('while %s says so', (_what, changes, recordChanges, info, ceaStage) => {
    expect(progressOf(sourceOf(changes, recordChanges))).toMatchObject({ info, ceaStage });
  });

  it('keeps to the contract\'s form in every state', () => {
    for (const state of ['RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED'] as const) {
      for (const changes of [{}, { figures: [] }, { leader: null }]) expect(progressSchema.safeParse(progressOf(sourceOf({ state, ...changes }))).success).toBe(true);
    }
  });

  it('has no lag when paused, none to wait for when committed, and the worst of its shares otherwise', () => {
    expect(progressOf(sourceOf({ state: 'PAUSED' })).lagTimeSeconds).toBeNull();
    expect(progressOf(sourceOf({ state: 'COMMITTED', figures: [] })).lagTimeSeconds).toBe(0);
    expect(progressOf(sourceOf({ figures: [figures, { ...figures, lag_seconds: 8 }] })).lagTimeSeconds).toBe(8);
  });

  it('offers a commit only while running', () => {
    expect(progressOf(sourceOf({ canCommit: true })).canCommit).toBe(true);
    expect(progressOf(sourceOf({ canCommit: true, state: 'COMMITTING' })).canCommit).toBe(false);
    expect(progressOf(sourceOf({ canCommit: true, state: 'PAUSED' })).canCommit).toBe(false);
  });

  it('names itself, the coordinator when there is one, and both clusters', () => {
    expect(progressOf(sourceOf())).toMatchObject({ syncID: 'shard0', coordinatorID: 'leader', directionMapping: { Source: 'cluster0: a:1', Destination: 'cluster1: b:1' } });
    expect(progressOf(sourceOf({ leader: null })).coordinatorID).toBeNull();
  });
});

describe('a commit would succeed', () => {
  const ready = { ...figures, copyDone: true };

  it.each([
    ['when all own shares are copied and near the source', [ready, ready], 2, true],
    ['not while a share is missing', [ready], 2, false],
    ['not while a share is being copied', [ready, figures], 2, false],
    ['not while a share is more than 30 s behind', [ready, { ...ready, lag_seconds: 31 }], 2, false],
    ['not while a share does not follow its stream yet', [ready, { ...ready, followsStream: false }], 2, false],
  ])('%s', (_what, shares, count, expected) => {
    expect(isReadyToCommit(shares, count)).toBe(expected);
  });
});
