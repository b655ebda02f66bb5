import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { TaskStats } from '../../../src/lifecycle/task/task-stats.js';
import type { CommitRound, MigrationRecord, Reversal } from '../../../src/store/migration-record.js';
import type { TaskRecord, TaskVerification } from '../../../src/store/task-record.js';
import { zeroTimestamp } from './parts.js';
import type { MigrationView } from '../../../src/store/migration-view.js';

/** The record of a migration without a verifier before its initialisation, with the sync task `a`. */
export function recordWith(changes: Partial<MigrationRecord> = {}): MigrationRecord {
  return {
    release: '2.0.0',
    options: parseStartRequest({ source: 'cluster0', destination: 'cluster1', verification: { enabled: false } }),
    digest: 'd',
    source: { name: 'cluster0', clusterId: '0a' },
    destination: { name: 'cluster1', clusterId: '0b' },
    access: 'direct',
    taskIds: ['a'],
    phase: 'starting',
    failure: null,
    leaderEpoch: 1,
    catalogEpoch: null,
    startTime: null,
    estimatedTotalBytes: null,
    commit: null,
    ddlChanges: { known: 0, done: 0 },
    ddlWatermark: null,
    canWrite: false,
    sourceReleased: false,
    balancers: null,
    warnings: [],
    ...changes,
  };
}

/** The first commit round, which tasks have not drained. */
export function roundWith(changes: Partial<CommitRound> = {}): CommitRound {
  return { round: 1, time: zeroTimestamp, sealed: false, catalogEpoch: null, ...changes };
}

/** A reversible migration whose clusters were never swapped, and whose destination was never open. */
export function reversalWith(changes: Partial<Reversal> = {}): Reversal {
  return {
    turns: 0,
    sourceShards: ['a'],
    destinationShards: ['b'],
    accessBack: 'direct',
    openedAt: null,
    openedCatalogEpoch: null,
    isOver: false,
    ...changes,
  };
}

/** The record of the sync task `a`, which has done nothing yet. */
export function taskWith(changes: Partial<TaskRecord> = {}): TaskRecord {
  return {
    _id: 'a',
    epoch: 1,
    owner: { syncID: 'a', incarnation: '1' },
    started: true,
    paused: false,
    commitRequested: false,
    checkpoint: null,
    applyWatermark: null,
    lastWrite: null,
    copied: { bytes: 0, documents: 0 },
    copyDone: false,
    eventsApplied: 0,
    drained: null,
    sessions: [],
    acknowledged: 0,
    unknown: [],
    ...changes,
  };
}

/** The state with this record, and with these tasks under the record's ids, in their order. */
export function viewWith(
  record: Partial<MigrationRecord> = {},
  tasks: readonly Partial<TaskRecord>[] = [],
): MigrationView {
  const whole = recordWith(record);
  const records = tasks.map((task, at) => taskWith({ _id: whole.taskIds[at] ?? '', ...task }));
  return { record: whole, tasks: new Map(records.map((task) => [task._id, task])) };
}

const unknownProgress = {
  estimatedDocumentCount: null,
  hashedDocumentCount: null,
  lagTimeSeconds: null,
  phase: null,
  scannedCollectionCount: null,
  totalCollectionCount: null,
};

/** The state of a verifier that has planned everything and compared nothing. */
export function verificationWith(changes: Partial<TaskVerification> = {}): TaskVerification {
  return {
    planned: 0,
    settled: { source: null, destination: null },
    answered: 0,
    mismatches: 0,
    differing: 0,
    stats: { blocker: null, source: unknownProgress, destination: unknownProgress },
    ...changes,
  };
}

/** The stats of a sync task that has done nothing yet. */
export function statsWith(changes: Partial<TaskStats> = {}): TaskStats {
  return {
    copiedBytes: 0,
    copiedDocuments: 0,
    copyDone: false,
    eventsApplied: 0,
    followsStream: true,
    lag_seconds: 0,
    readLag_seconds: 0,
    pendingRereads: 0,
    bufferedBytes: 0,
    bufferedEvents: 0,
    partitions: { waiting: 0, starting: 0, copying: 0, done: 0 },
    readBelow: 0n,
    lateWrites: { writes: 0, createsAndDrops: 0, deletedIn: new Set() },
    ...changes,
  };
}
