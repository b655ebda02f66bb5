import type { Partition, PartitionState } from '../../store/partition.js';

/** The figures of a share for progress. */
export interface TaskStats {
  copiedBytes: number;
  copiedDocuments: number;
  copyDone: boolean;
  eventsApplied: number;
  /** The stream has said where it is since this process follows it: only then the lag means something. */
  followsStream: boolean;
  /** Cluster time between the source and what is durable on the destination. */
  lag_seconds: number;
  /** Cluster time between the source and what was read of its changes. */
  readLag_seconds: number;
  pendingRereads: number;
  bufferedBytes: number;
  /** Events that wait until the partition of their document is copied. */
  bufferedEvents: number;
  partitions: Record<PartitionState, number>;
  /** Everything below was read of the source's changes. */
  readBelow: bigint;
  /** Changes seen above the commit time, deletes left out. */
  writesAboveCeiling: number;
  /** UUIDs of the collections of which documents were deleted above the commit time. */
  deletedAboveCeiling: ReadonlySet<string>;
}

/** The figures of the copy alone. */
export type CopyStats = Pick<TaskStats, 'copiedBytes' | 'copiedDocuments' | 'bufferedEvents' | 'partitions'>;

/** Sums up the partitions of all collections. */
export function copyStats(tables: Iterable<{ readonly partitions: readonly Partition[] }>): CopyStats {
  const stats: CopyStats = {
    copiedBytes: 0,
    copiedDocuments: 0,
    bufferedEvents: 0,
    partitions: { waiting: 0, starting: 0, copying: 0, done: 0 },
  };
  for (const table of tables) for (const partition of table.partitions) addPartition(stats, partition);
  return stats;
}

function addPartition(stats: CopyStats, { bytes, documents, buffered, state }: Partition): void {
  stats.copiedBytes += bytes;
  stats.copiedDocuments += documents;
  stats.bufferedEvents += buffered.length;
  stats.partitions[state] += 1;
}
