import { idleProgress, type MigrationState, progressInfo } from '@convoy/api/contract/progress';
import type { InstanceIdentity, InstanceReport } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { namesFleet } from '@convoy/instance/lifecycle/instance/report';

const mebibyte = 1024 * 1024;
/** Planned bytes of each instance's part. */
const partBytes = 400_000 * mebibyte;

/** An instance that syncs nothing. */
export interface StagedInstance {
  identity: InstanceIdentity;
  /** Ids of all instances of its fleet. */
  ids: readonly string[];
  /** Distinguishes its values from its peers'. */
  at: number;
  leads?: boolean;
}

const side = {
  estimatedDocumentCount: 4_000_000,
  hashedDocumentCount: 1_234_567,
  lagTimeSeconds: 3,
  phase: 'stream hashing' as const,
  scannedCollectionCount: 17,
  totalCollectionCount: 40,
};

/**
 * The report of an instance in a migration, with all fields that an engine fills during the copy.
 * @param step number of the report: every value that grows during a copy grows with it
 */
export function stagedReport(
  { identity, ids, at, leads = false }: StagedInstance,
  step: number,
  state: MigrationState = 'RUNNING',
): InstanceReport {
  const isCopying = state === 'RUNNING';
  const named = namesFleet(identity.id, ids, leads) ? [...ids] : [];
  const progress: InstanceReport['progress'] = {
    ...idleProgress(),
    state,
    canWrite: state === 'COMMITTED',
    info: isCopying ? progressInfo.collectionCopy : progressInfo.paused,
    lagTimeSeconds: isCopying ? (step + at) % 12 : null,
    totalEventsApplied: step * 260 + at,
    collectionCopy: {
      estimatedTotalBytes: ids.length * partBytes,
      estimatedCopiedBytes: step * 12 * mebibyte + at,
    },
    directionMapping: { Source: 'cluster0: source.example:27017', Destination: 'cluster1: destination.example:27017' },
    syncID: identity.syncID,
    coordinatorID: ids[0] ?? null,
    verification: { source: side, destination: side },
    ceaStage: null,
    lag: { overallLagSeconds: (step + at) % 12, crudLagSeconds: (step + at) % 12, ddlLagSeconds: 0 },
    source: { pingLatencyMs: 1 + (step % 3) },
    destination: { pingLatencyMs: 2 + (step % 3) },
    estimatedOplogTimeRemaining: '26 hours',
    warnings: [],
    commitBlockers: [
      {
        instance: identity.id,
        reason: 'copying',
        value: null,
        limit: null,
        description: 'collections are still being copied',
      },
    ],
    startedAt: '2026-01-01T00:00:00.000Z',
    options: {
      source: 'cluster0',
      destination: 'cluster1',
      buildIndexes: 'beforeDataCopy',
      reversible: false,
      enableUserWriteBlocking: false,
      verification: { enabled: true },
    },
    waitingFor: [],
  };
  return idleReport(identity, {
    state,
    step: 'syncing',
    expectedIds: named,
    clusterIds: { cluster0: '65a0c0ffee0c0ffee0c0ffee', cluster1: '65a0deadbeefdeadbeefdead' },
    optionsDigest: 'd'.repeat(64),
    rates: isCopying
      ? { copyBytesPerSecond: 48 * mebibyte + (step % 9) * 1_000, eventsPerSecond: 1_040 + (step % 7) }
      : { copyBytesPerSecond: 0, eventsPerSecond: 0 },
    progress,
    oplogRemaining_seconds: 94_000 - step,
    stats: {
      sourceShards: [identity.id],
      destinationShards: named,
      copiedDocuments: step * 3_000 + at,
      partitions: { waiting: 40, starting: 0, copying: 4, done: step },
      bufferedEvents: step % 90,
      pendingRereads: step % 3,
      bufferedBytes: (step % 50) * mebibyte,
      bufferBytesMax: 128 * mebibyte,
    },
  });
}
