import { idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import type { FleetMessage, InstanceView } from '../../../src/dashboard/message.js';

/** One instance in the middle of a copy. */
export function stagedInstance(id: string, changes: Partial<InstanceView> = {}): InstanceView {
  return {
    id,
    syncID: id,
    release: '2.0.0',
    problems: [],
    reachable: true,
    secondsSinceHeartbeat: 0,
    state: 'RUNNING',
    canCommit: false,
    info: 'collection copy',
    lagTimeSeconds: 4,
    totalEventsApplied: 10,
    eventsPerSecond: 5,
    estimatedCopiedBytes: 1_000_000,
    copyBytesPerSecond: 2_000,
    error: null,
    errorDescription: null,
    stats: {
      sourceShards: [id],
      destinationShards: ['d1', 'd0'],
      copiedDocuments: 700,
      partitions: { waiting: 2, starting: 0, copying: 1, done: 3 },
      bufferedEvents: 0,
      pendingRereads: 0,
      bufferedBytes: 10,
      bufferBytesMax: 100,
    },
    sourcePingMs: 0.5,
    destinationPingMs: null,
    ...changes,
  };
}

/** A fleet of two in the middle of a copy. */
export function stagedMessage(
  progress: Partial<FleetMessage['progress']> = {},
  changes: Partial<FleetMessage> = {},
): FleetMessage {
  const { instances: rows, ...idle } = idleFleetProgress();
  return {
    now_ms: rows === null ? 1_000 : 0,
    isConnected: true,
    leaderId: 'a',
    expectedIds: ['a', 'b'],
    failure: null,
    progress: {
      ...idle,
      state: 'RUNNING',
      info: 'collection copy',
      canWrite: false,
      percent: 25,
      secondsRemaining: 600,
      lagTimeSeconds: 4,
      collectionCopy: { estimatedTotalBytes: 8_000_000, estimatedCopiedBytes: 2_000_000 },
      warnings: [],
      ...progress,
    },
    instances: { a: stagedInstance('a'), b: stagedInstance('b') },
    commandsSent: 0,
    ...changes,
  };
}
