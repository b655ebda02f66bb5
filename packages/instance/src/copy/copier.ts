import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Clock } from '../async/clock.js';
import type { Retrying } from '../async/retry.js';
import { runTogether } from '../async/together.js';
import { type ByteBudget, Condition } from '../async/waiting.js';
import type { RawValue } from '../bson/scan.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { RoutedStream } from '../store/change-event.js';
import type { DocumentWriter } from '../store/fenced-writer.js';
import type { PartitionTable } from '../store/partition-table.js';
import type { Partition } from '../store/partition.js';
import type { RereadSet } from '../store/reread-set.js';
import { type CappedEnds, copyCapped } from './copy-capped.js';
import { copyInRecordOrder } from './copy-in-record-order.js';
import type { CopyConcurrency, ReadRate } from './copy-pace.js';
import { copyPartition } from './copy-partition.js';

/** A partition that is being copied; `suspend` ends it alone. */
interface TakenPartition {
  table: PartitionTable;
  partition: Partition;
  suspend: AbortController;
}

/** Copies all partitions of a sync task, several at once. Collections may be added and removed meanwhile. */
export class Copier {
  readonly #changed = new Condition();
  readonly #taken = new Map<Partition, TakenPartition>();
  readonly #tables: PartitionTable[];
  /** UUIDs of suspended collections. */
  readonly #suspended = new Set<string>();
  /** Collections that can only be read later wait without a reader. */
  #commitTime: bigint | null = null;
  /** All tables before this index were done at the last search. */
  #firstOpen = 0;

  /**
   * @param tables in the order of the copy
   * @param copyOf chooses the function that copies a partition
   */
  constructor(
    tables: readonly PartitionTable[],
    private readonly deps: CopyDependencies,
    private readonly copyOf = copyingOf,
  ) {
    this.#tables = [...tables];
  }

  /** Copies waiting partitions until the stop signal; rejects with the first failure. */
  async run(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    const readers = Array.from({ length: this.deps.readers }, () => (signal: AbortSignal) => this.#read(signal, hard));
    await runTogether(stop, readers);
  }

  /** Adds a collection behind all others. */
  add(table: PartitionTable): void {
    this.#tables.push(table);
    this.#changed.changed();
  }

  /** Reports that a partition which was done waits again. */
  reopened(): void {
    this.#changed.changed();
  }

  /** Starts no collection that can only be read after it: that would block a reader until a later one is set. */
  setCommitTime(time: bigint): void {
    this.#commitTime = time;
    this.#changed.changed();
  }

  /** Removes a suspended collection that is no longer copied. */
  remove(table: PartitionTable): void {
    const index = this.#tables.indexOf(table);
    if (index < 0) return;
    this.#tables.splice(index, 1);
    this.#firstOpen = 0;
    this.#changed.changed();
  }

  /** Aborts the copy of a collection. Its partitions wait, dirty, until `resume`. */
  suspend(uuid: string): void {
    this.#suspended.add(uuid);
    for (const { table, suspend } of this.#taken.values())
      if (table.collection.uuid === uuid) suspend.abort(new ConvoyError('notReady', 'suspended'));
  }

  resume(uuid: string): void {
    this.#suspended.delete(uuid);
    this.#changed.changed();
  }

  /** Resolves once the condition holds, checked whenever the copy of a partition has ended. */
  async until(condition: () => boolean, signal: AbortSignal): Promise<void> {
    await this.#changed.until(condition, signal);
  }

  /** Whether a reader has the partition, even while its attempt waits to start. */
  isTaken(partition: Partition): boolean {
    return this.#taken.has(partition);
  }

  /** Resolves once no partition of the collection is being copied and all its writes are answered. */
  async quiet(uuid: string, signal: AbortSignal): Promise<void> {
    await this.#changed.until(
      () => ![...this.#taken.values()].some(({ table }) => table.collection.uuid === uuid),
      signal,
    );
  }

  async #read(stop: AbortSignal, hard: AbortSignal): Promise<void> {
    for (;;) {
      await this.#changed.until(() => this.#waiting() !== null, stop);
      const next = this.#waiting();
      if (next === null) continue;
      const taken = { ...next, suspend: new AbortController() };
      this.#taken.set(next.partition, taken);
      try {
        await this.#copy(taken, stop, hard);
      } finally {
        this.#taken.delete(next.partition);
        this.#changed.changed();
      }
    }
  }

  async #copy({ table, partition, suspend }: TakenPartition, stop: AbortSignal, hard: AbortSignal): Promise<void> {
    const copy = this.copyOf(table, partition);
    try {
      await copy({ table, partition, deps: this.deps, stop: AbortSignal.any([stop, suspend.signal]), hard });
    } catch (error) {
      if (stop.aborted || partition.closing || !isSuspendedOnly(error, suspend.signal)) throw error;
    }
  }

  #waiting(): { table: PartitionTable; partition: Partition } | null {
    while (this.#tables[this.#firstOpen]?.done === true) this.#firstOpen += 1;
    const found = this.#waitingFrom(this.#firstOpen);
    if (found !== null || this.#firstOpen === 0) return found;
    // A done table may have a waiting partition again.
    this.#firstOpen = 0;
    return this.#waitingFrom(0);
  }

  #isTooLate({ collection }: PartitionTable): boolean {
    return this.#commitTime !== null && collection.notBefore > this.#commitTime;
  }

  #waitingFrom(first: number): { table: PartitionTable; partition: Partition } | null {
    for (let index = first; index < this.#tables.length; index += 1) {
      const table = this.#tables[index];
      if (table === undefined || this.#suspended.has(table.collection.uuid) || this.#isTooLate(table)) continue;
      const partition = table.partitions.find(
        (each) => each.state === 'waiting' && !each.reopening && !this.#taken.has(each),
      );
      if (partition !== undefined) return { table, partition };
    }
    return null;
  }
}

/** Whether a suspended copy ended by that alone: what servers then answer does not matter, an error of Convoy does. */
function isSuspendedOnly(error: unknown, suspended: AbortSignal): boolean {
  return suspended.aborted && (!(error instanceof ConvoyError) || error === suspended.reason);
}

/** The copy that a partition takes. */
function copyingOf({ collection }: PartitionTable, { scan }: Partition): typeof copyPartition {
  if (scan !== null) return copyInRecordOrder;
  return collection.capped ? copyCapped : copyPartition;
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

/** Prepares a collection to be copied again. */
export interface CopyRestarts {
  /** Replaces a partly copied capped collection on the destination by an empty one. */
  recreate(uuid: string, signal: AbortSignal): Promise<void>;
  /** Chooses where the partitions of a copy in `_id` order start, after one in record order. */
  startsInIdOrder(table: PartitionTable, signal: AbortSignal): Promise<RawValue[]>;
}
