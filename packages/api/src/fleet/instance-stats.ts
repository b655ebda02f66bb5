import { z } from 'zod';

const count = z.number().nonnegative();

/** Number of partitions in each phase. */
export const partitionCountsSchema = z.object({ waiting: count, starting: count, copying: count, done: count });

/**
 * Stats of an instance beyond the contract's progress, for the dashboard. Of bounded size: details per collection are
 * published separately.
 */
export const instanceStatsSchema = z.object({
  /** Source shards that this instance reads, and all destination shards; in a large fleet only some name the latter. */
  sourceShards: z.array(z.string()).max(1_000),
  destinationShards: z.array(z.string()).max(1_000),
  copiedDocuments: count,
  partitions: partitionCountsSchema,
  /** Events buffered until the partition of their document is copied. */
  bufferedEvents: count,
  /** Documents to re-read. */
  pendingRereads: count,
  bufferedBytes: count,
  bufferBytesMax: count,
});

/** Stats of one instance beyond its progress. */
export type InstanceStats = z.output<typeof instanceStatsSchema>;
