import fc from 'fast-check';
import { progressSchema, type Warning } from '@convoy/api/contract/progress';
import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import { describe, expect, it } from 'vitest';
import type { Observed } from '../../../../src/lifecycle/instance/migration-observer.js';
import { progressOf, type ProgressSource } from '../../../../src/lifecycle/instance/progress-view.js';
import type { TaskStats } from '../../../../src/lifecycle/task/task-stats.js';
import type { MigrationRecord } from '../../../../src/store/migration-record.js';
import type { TaskRecord } from '../../../../src/store/task-record.js';

const record: MigrationRecord = {
  release: '2.0.0',
  options: parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } }),
  digest: 'd',
  source: { name: 'cluster0', clusterId: 'aa' },
  destination: { name: 'cluster1', clusterId: 'bb' },
  access: 'direct',
  taskIds: ['shard0', 'shard1'],
  phase: 'syncing',
  failure: null,
  leaderEpoch: 1,
  catalogEpoch: 1,
  startTime: null,
  estimatedTotalBytes: 1000,
  commit: null,
  canWrite: false,
  sourceReleased: false,
  balancers: null,
  ddlChanges: { known: 0, done: 0 },
  ddlWatermark: null,
  warnings: [],
};

const task: TaskRecord = {
  _id: 'shard0',
  epoch: 1,
  owner: { syncID: 'shard0', incarnation: '1' },
  started: true,
  paused: false,
  commitRequested: false,
  checkpoint: null,
  applyWatermark: null,
  lastWrite: null,
  copied: { bytes: 300, documents: 3 },
  copyDone: false,
  eventsApplied: 7,
  drained: null,
  acknowledged: 0,
  unknown: [],
  sessions: [],
};

const stats: TaskStats = {
  copiedBytes: 400,
  copiedDocuments: 4,
  copyDone: false,
  eventsApplied: 9,
  followsStream: true,
  lag_seconds: 5,
  readLag_seconds: 2,
  readBelow: 0n,
  pendingRereads: 0,
  bufferedBytes: 0,
  bufferedEvents: 0,
  partitions: { waiting: 0, starting: 0, copying: 0, done: 0 },
  lateWrites: { writes: 0, createsAndDrops: 0, deletedIn: new Set() },
};

const observed: Observed = {
  ddlLag_seconds: 2,
  catchUp_seconds: 17,
  warnings: [],
  sourcePing_ms: 1.26,
  destinationPing_ms: 2.51,
  seesOplogs: true,
  oplogRemaining_seconds: 43_200,
};

const warningOf = (name: string): Warning => ({ name, description: name });

function sourceOf(changes: Partial<ProgressSource> = {}, recordChanges: Partial<MigrationRecord> = {}): ProgressSource {
  return {
    state: 'RUNNING',
    view: { record: { ...record, ...recordChanges }, tasks: new Map([['shard0', task]]) },
    ownIds: ['shard0'],
    stats: [stats],
    verification: null,
    syncID: 'shard0',
    leader: { id: 'shard1', syncID: 'leader' },
    directionMapping: { Source: 'cluster0: a:1', Destination: 'cluster1: b:1' },
    canCommit: false,
    commitBlockers: null,
    indexBuilding: null,
    observed,
    warnings: [],
    isMetadataRemoved: false,
    ...changes,
  };
}

describe('the estimate of copied bytes', () => {
  it('is 0 of 1 before the copy', () => {
    expect(progressOf(sourceOf({}, { phase: 'starting', estimatedTotalBytes: null })).collectionCopy).toEqual({
      estimatedTotalBytes: 1,
      estimatedCopiedBytes: 0,
    });
  });

  it('of a migration from an earlier release is 0 of 1, and then what was copied since', () => {
    const restarted = (copiedBytes: number) =>
      progressOf(sourceOf({ stats: [{ ...stats, copiedBytes }] }, { estimatedTotalBytes: null })).collectionCopy;
    expect(restarted(0)).toEqual({ estimatedTotalBytes: 1, estimatedCopiedBytes: 0 });
    expect(restarted(70)).toEqual({ estimatedTotalBytes: 70, estimatedCopiedBytes: 70 });
  });

  it('is of this instance, against the total of all', () => {
    expect(progressOf(sourceOf()).collectionCopy).toEqual({ estimatedTotalBytes: 1000, estimatedCopiedBytes: 400 });
  });

  it('is the stored one until the stages run', () => {
    expect(progressOf(sourceOf({ stats: [] })).collectionCopy?.estimatedCopiedBytes).toBe(300);
  });

  it('adds up the tasks of a lone instance, which knows the total as soon as everything is copied', () => {
    const done = { ...stats, copyDone: true, copiedBytes: 700 };
    const lone = { ownIds: ['shard0', 'shard1'], stats: [done, { ...done, copiedBytes: 800 }] };
    expect(progressOf(sourceOf(lone)).collectionCopy).toEqual({
      estimatedTotalBytes: 1500,
      estimatedCopiedBytes: 1500,
    });
  });

  it('of several instances adds up to the total that the leader sets at the end', () => {
    const copied = [600, 900];
    const reported = copied.map((copiedBytes, index) => {
      const done = { ...stats, copyDone: true, copiedBytes };
      return progressOf(sourceOf({ ownIds: [`shard${index}`], stats: [done] }, { estimatedTotalBytes: 1500 }))
        .collectionCopy;
    });
    expect(reported.reduce((sum, one) => sum + (one?.estimatedCopiedBytes ?? 0), 0)).toBe(1500);
  });

  it('of a source without documents ends at 1 of 1, counted by one instance alone', () => {
    const done = { ...stats, copyDone: true, copiedBytes: 0 };
    const reported = ['shard0', 'shard1'].map(
      (id) => progressOf(sourceOf({ ownIds: [id], stats: [done] }, { estimatedTotalBytes: 1 })).collectionCopy,
    );
    expect(reported).toEqual([
      { estimatedTotalBytes: 1, estimatedCopiedBytes: 1 },
      { estimatedTotalBytes: 1, estimatedCopiedBytes: 0 },
    ]);
  });

  it('is never more than the total, whatever was estimated and copied', () => {
    const bytes = fc.nat({ max: 3000 });
    fc.assert(
      fc.property(
        fc.option(bytes),
        bytes,
        fc.boolean(),
        fc.boolean(),
        (estimatedTotalBytes, copiedBytes, copyDone, lone) => {
          const ownIds = lone ? ['shard0', 'shard1'] : ['shard0'];
          const copy = progressOf(
            sourceOf({ ownIds, stats: [{ ...stats, copiedBytes, copyDone }] }, { estimatedTotalBytes }),
          ).collectionCopy;
          expect(copy?.estimatedCopiedBytes).toBeLessThanOrEqual(copy?.estimatedTotalBytes ?? 0);
          expect(copy?.estimatedTotalBytes).toBeGreaterThan(0);
          if (lone && copyDone) expect(copy?.estimatedCopiedBytes).toBe(copy?.estimatedTotalBytes);
        },
      ),
    );
  });
});

describe('progress', () => {
  it.each([
    ['starting', {}, { phase: 'starting' as const }, 'initializing', null],
    ['copying', {}, {}, 'collection copy', null],
    ['applying', { stats: [{ ...stats, copyDone: true }] }, {}, 'change event application', 'steady state'],
    [
      'catching up',
      { stats: [{ ...stats, copyDone: true, lag_seconds: 31 }] },
      {},
      'change event application',
      'collection copy drain',
    ],
    ['paused', { state: 'PAUSED' as const }, {}, 'paused', null],
    [
      'committing',
      { state: 'COMMITTING' as const },
      { phase: 'committing' as const },
      'waiting for commit to complete',
      null,
    ],
    ['committed', { state: 'COMMITTED' as const }, { phase: 'committed' as const }, 'commit completed', null],
  ])('while %s says so', (_what, changes, recordChanges, info, ceaStage) => {
    expect(progressOf(sourceOf(changes, recordChanges))).toMatchObject({ info, ceaStage });
  });

  it("keeps to the contract's form in every state", () => {
    for (const state of ['RUNNING', 'PAUSED', 'COMMITTING', 'COMMITTED'] as const) {
      for (const changes of [{}, { stats: [] }, { leader: null }])
        expect(progressSchema.safeParse(progressOf(sourceOf({ state, ...changes }))).success).toBe(true);
    }
  });

  it('has no lag when paused, none when committed, and the worst of its tasks otherwise', () => {
    expect(progressOf(sourceOf({ state: 'PAUSED' })).lagTimeSeconds).toBeNull();
    expect(progressOf(sourceOf({ state: 'COMMITTED', stats: [] })).lagTimeSeconds).toBe(0);
    expect(progressOf(sourceOf({ stats: [stats, { ...stats, lag_seconds: 8 }] })).lagTimeSeconds).toBe(8);
  });

  it('has the lags of documents and of DDL changes, and the larger of both', () => {
    expect(progressOf(sourceOf()).lag).toEqual({ overallLagSeconds: 5, crudLagSeconds: 5, ddlLagSeconds: 2 });
    const waiting = { observed: { ...observed, ddlLag_seconds: 40 } };
    expect(progressOf(sourceOf(waiting)).lag).toEqual({ overallLagSeconds: 40, crudLagSeconds: 5, ddlLagSeconds: 40 });
    const unknown = { observed: { ...observed, ddlLag_seconds: null } };
    expect(progressOf(sourceOf(unknown)).lag).toEqual({ overallLagSeconds: 5, crudLagSeconds: 5, ddlLagSeconds: null });
  });

  it('contains the measurements and estimates', () => {
    expect(progressOf(sourceOf())).toMatchObject({
      source: { pingLatencyMs: 1.3 },
      destination: { pingLatencyMs: 2.5 },
      estimatedOplogTimeRemaining: '12 hours',
      estimatedSecondsToCEACatchup: 17,
    });
  });

  it('has nothing to catch up with in a pause, but an oplog that keeps rolling', () => {
    const { lag, estimatedSecondsToCEACatchup, estimatedOplogTimeRemaining } = progressOf(
      sourceOf({ state: 'PAUSED' }),
    );
    expect(lag).toEqual({ overallLagSeconds: null, crudLagSeconds: null, ddlLagSeconds: null });
    expect([estimatedSecondsToCEACatchup, estimatedOplogTimeRemaining]).toEqual([null, '12 hours']);
  });

  it('is caught up once committed, when no oplog matters', () => {
    const { lag, estimatedSecondsToCEACatchup, estimatedOplogTimeRemaining } = progressOf(
      sourceOf({ state: 'COMMITTED', stats: [] }),
    );
    expect(lag).toEqual({ overallLagSeconds: 0, crudLagSeconds: 0, ddlLagSeconds: 0 });
    expect([estimatedSecondsToCEACatchup, estimatedOplogTimeRemaining]).toEqual([0, null]);
  });

  it('warns of the migration first, then of the lag', () => {
    const [first, second] = [warningOf('oplogWindowShort'), warningOf('streamFarBehind')];
    expect(progressOf(sourceOf({ warnings: [first], observed: { ...observed, warnings: [second] } })).warnings).toEqual(
      [first, second],
    );
  });

  it('offers a commit only while running', () => {
    expect(progressOf(sourceOf({ canCommit: true })).canCommit).toBe(true);
    expect(progressOf(sourceOf({ canCommit: true, state: 'COMMITTING' })).canCommit).toBe(false);
    expect(progressOf(sourceOf({ canCommit: true, state: 'PAUSED' })).canCommit).toBe(false);
  });

  it('names itself, the coordinator when there is one, and both clusters', () => {
    expect(progressOf(sourceOf())).toMatchObject({
      syncID: 'shard0',
      coordinatorID: 'leader',
      directionMapping: { Source: 'cluster0: a:1', Destination: 'cluster1: b:1' },
    });
    expect(progressOf(sourceOf({ leader: null })).coordinatorID).toBeNull();
  });
});

it('says that the metadata is removed, once committed', () => {
  const removed = (changes: Partial<ProgressSource>) => progressOf(sourceOf(changes)).metadataRemoved;
  expect(removed({ isMetadataRemoved: false })).toBeNull();
  expect(removed({ state: 'COMMITTED' })).toBe(false);
  expect(removed({ state: 'COMMITTED', isMetadataRemoved: true })).toBe(true);
});
