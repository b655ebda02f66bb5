import { z } from 'zod';

const count = z.number().nonnegative();

/** How many partitions of a copy are in each phase. */
export const partitionCountsSchema = z.object({ waiting: count, starting: count, copying: count, done: count });

/**
 * What an instance tells beyond the contract's progress, for those who watch. Of fixed size: what there is per
 * collection is posted separately.
 */
export const instanceStatsSchema = z.object({
  /** Shards of the source that this instance reads, and shards of the destination. */
  sourceShards: z.array(z.string()).max(1_000),
  destinationShards: z.array(z.string()).max(1_000),
  copiedDocuments: count,
  partitions: partitionCountsSchema,
  /** Events that wait until the partition of their document is copied. */
  bufferedEvents: count,
  /** Keys that wait to be read anew. */
  pendingRereads: count,
  bufferedBytes: count,
  bufferBytesMax: count,
});

/** Figures of one instance beside its progress. */
export type InstanceStats = z.output<typeof instanceStatsSchema>;
