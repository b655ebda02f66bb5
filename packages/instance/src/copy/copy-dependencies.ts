import type { RawValue } from '../bson/scan.js';
import type { Clock } from '../cluster/clock.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { ByteBudget } from '../store/byte-budget.js';
import type { DocumentWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../cluster/retry.js';
import type { PartitionTable } from '../store/partition-table.js';
import type { RereadSet } from '../store/reread-set.js';
import type { RoutedStream } from '../store/routed-stream.js';
import type { CappedEnds } from './capped-end.js';
import type { CopyConcurrency } from './copy-concurrency.js';
import type { ReadRate } from './read-rate.js';

/** Begins the copy of a collection again. */
export interface CopiedCollections {
  /** Replaces a partly copied capped collection on the destination by an empty one. */
  recreate(uuid: string, signal: AbortSignal): Promise<void>;
  /** The copy of a collection leaves record order. @returns where the partitions of the copy in `_id` order start */
  leaveRecordOrder(table: PartitionTable, signal: AbortSignal): Promise<RawValue[]>;
}

export interface CopyDependencies {
  /** The source shard, or a router of the source. */
  shard: NodeClient;
  writer: DocumentWriter;
  rereads: RereadSet;
  retrying: Retrying;
  clock: Clock;
  /** Counts documents that were read and not yet acknowledged. */
  budget: ByteBudget;
  rate: ReadRate;
  /** How many reads and writes are in flight at once. */
  concurrency: CopyConcurrency;
  stream: RoutedStream;
  cappedEnds: CappedEnds;
  collections: CopiedCollections;
  /** After this time a partition is split and its rest waits. */
  partition_seconds: number;
  /** How many partitions are copied at once. */
  readers: number;
}

/** Of one partition: one batch is written and one waits while the source is read. More would only use memory. */
export const writesInFlightMax = 2;
