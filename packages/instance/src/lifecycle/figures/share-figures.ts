import type { Partition, PartitionState } from '../../store/partition-table.js';

/** The figures of a share for progress. */
export interface ShareFigures {
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
  doubtfulKeys: number;
  bufferedBytes: number;
  /** Events that wait until the partition of their document is copied. */
  heldEvents: number;
  partitions: Record<PartitionState, number>;
  /** Everything below was read of the source's changes. */
  readBelow: bigint;
  /** Changes seen above the commit time, deletes left out. */
  writesAboveCeiling: number;
  /** UUIDs of the collections of which documents were deleted above the commit time. */
  deletedAboveCeiling: ReadonlySet<string>;
}

/** The figures of the copy alone. */
export type CopyFigures = Pick<ShareFigures, 'copiedBytes' | 'copiedDocuments' | 'heldEvents' | 'partitions'>;

/** Sums up the partitions of all collections. */
export function copyFigures(tables: Iterable<{ readonly partitions: readonly Partition[] }>): CopyFigures {
  const figures: CopyFigures = { copiedBytes: 0, copiedDocuments: 0, heldEvents: 0, partitions: { waiting: 0, starting: 0, copying: 0, done: 0 } };
  for (const table of tables) for (const partition of table.partitions) addPartition(figures, partition);
  return figures;
}

function addPartition(figures: CopyFigures, { bytes, documents, held, state }: Partition): void {
  figures.copiedBytes += bytes;
  figures.copiedDocuments += documents;
  figures.heldEvents += held.length;
  figures.partitions[state] += 1;
}
