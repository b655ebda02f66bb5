import type { RawValue } from '../bson/scan.js';
import type { Clock } from '../async/clock.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { ByteBudget } from '../async/waiting.js';
import type { DocumentWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../async/retry.js';
import type { Partition } from '../store/partition.js';
import type { PartitionTable } from '../store/partition-table.js';
import type { RereadSet } from '../store/reread-set.js';
import type { RoutedStream } from '../store/change-event.js';
import type { CappedEnds } from './copy-capped.js';
import type { CopyConcurrency, ReadRate } from './copy-pace.js';

/** Prepares a collection to be copied again. */
export interface CopyRestarts {
  /** Replaces a partly copied capped collection on the destination by an empty one. */
  recreate(uuid: string, signal: AbortSignal): Promise<void>;
  /** Chooses where the partitions of a copy in `_id` order start, after one in record order. */
  startsInIdOrder(table: PartitionTable, signal: AbortSignal): Promise<RawValue[]>;
}

/** The copy of one partition. */
export interface PartitionCopy {
  table: PartitionTable;
  partition: Partition;
  deps: CopyDependencies;
  /** Ends the copy at the next batch and leaves the partition dirty. */
  stop: AbortSignal;
  /** Ends writes in flight. */
  hard: AbortSignal;
}

export interface CopyDependencies {
  /** The source shard; a router of the source, where that is what the task reads from. */
  shard: NodeClient;
  writer: DocumentWriter;
  rereads: RereadSet;
  retrying: Retrying;
  clock: Clock;
  /** Counts the bytes of documents that were read and that the destination has not acknowledged. */
  budget: ByteBudget;
  /** Limits the bytes read per second. */
  rate: ReadRate;
  /** Limits the task's reads and writes in flight, and tunes the limits during the copy. */
  concurrency: CopyConcurrency;
  stream: RoutedStream;
  cappedEnds: CappedEnds;
  restarts: CopyRestarts;
  /** After this time a reader splits its partition and leaves the rest for later; in record order a piece ends. */
  partition_seconds: number;
  /** Partitions that are read at the same time, at most. */
  readers: number;
}
