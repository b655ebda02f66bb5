import type { Clock } from '../cluster/clock.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { ByteBudget } from '../store/byte-budget.js';
import type { ChangeEvent } from '../store/change-event.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../cluster/retry.js';
import type { PartitionTable } from '../store/partition-table.js';
import type { RereadSet } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';
import type { CappedEnds } from './capped-end.js';
import type { CopyConcurrency } from './copy-concurrency.js';
import type { ReadRate } from './read-rate.js';

export interface CopyDependencies {
  /** The source shard, or a router of the source. */
  shard: NodeClient;
  writer: FencedWriter;
  rereads: RereadSet;
  retrying: Retrying;
  clock: Clock;
  /** Counts documents that were read and not yet acknowledged. */
  budget: ByteBudget;
  rate: ReadRate;
  /** How many reads and writes are in flight at once. */
  concurrency: CopyConcurrency;
  /** The largest time up to which every event of the shard's stream has been routed. */
  position(): bigint;
  /** Resolves once a new partition may start: the stream is not far behind. */
  untilReady(signal: AbortSignal): Promise<void>;
  /** Resolves once the stream has been routed up to `time`. */
  untilRouted(time: bigint, signal: AbortSignal): Promise<void>;
  /**
   * Resolves once an answer about a collection that is read by its name is known to have been about that collection.
   * @throws CollectionAbsentError when it may not have been; the signal's reason when a definition change of it has
   * become known
   */
  untilNamed(collection: SyncedCollection, signal: AbortSignal): Promise<void>;
  /** Resolves once every event up to `time` that was sent to a lane is durable. */
  untilFlushed(time: bigint, signal: AbortSignal): Promise<void>;
  /** Lets the events go on that a partition has held. */
  release(table: PartitionTable, events: readonly ChangeEvent[]): void;
  /** What capped copies wait for when they have read everything. */
  cappedEnds: CappedEnds;
  /** Makes an empty capped collection on the destination in place of one that was partly copied. */
  recreate: (uuid: string, signal: AbortSignal) => Promise<void>;
  /** After this long a partition is closed and its rest becomes a new one. */
  partition_seconds: number;
  /** How many partitions are being copied at once. */
  readers: number;
}

/** Of one partition: one batch is written and one waits while the source is read. More would only use memory. */
export const writesInFlightMax = 2;
