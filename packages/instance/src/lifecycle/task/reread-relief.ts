import type { EventDispatcher } from '../../apply/event-dispatcher.js';
import type { Clock } from '../../cluster/clock.js';
import type { Copier } from '../../copy/copier.js';
import type { GivenUpRange, RangeRelief } from '../../reread/reread-dependencies.js';
import type { Partition } from '../../store/partition.js';
import type { PartitionTable } from '../../store/partition-table.js';
import type { RereadEntry, RereadSet } from '../../store/reread-set.js';

/** What the relief of a re-read set needs of a sync task. */
export interface ReliefStages {
  rereads: RereadSet;
  clock: Clock;
  /** Partitions by the UUID of their collection. */
  tables: ReadonlyMap<string, PartitionTable>;
  dispatcher: Pick<EventDispatcher, 'latest'>;
  copier: Pick<Copier, 'isTaken' | 'reopened'>;
  /** Whether writes to a collection are suspended. */
  isSuspended: (uuid: string) => boolean;
}

interface Range {
  table: PartitionTable;
  partition: Partition;
  /** Its keys; keys that have left the re-read set are dropped from the end. */
  entries: RereadEntry[];
}

/** Keys that are removed at a time: as many as one read takes. */
const handedOutMax = 500;
/** A full set without a range to give up is not searched again before this time. */
const lookAgain_ms = 5_000;

/**
 * Bounds a re-read set. When it is full, the partition with most of its keys goes back to waiting, dirty. That
 * partition is copied again once the documents of those keys are deleted.
 */
export class RereadRelief implements RangeRelief {
  /** The range that is given up, until the set has none of its keys. */
  #present: Range | null = null;
  #notBefore_ms = -Infinity;

  constructor(private readonly stages: ReliefStages) {}

  /**
   * The range whose keys should leave the set now. By then the waiting, dirty partition is durable. A crash at this
   * point leaves a partition to copy again, and keys to read after that.
   */
  async next(): Promise<GivenUpRange | null> {
    if (this.#present === null && !(await this.#begin())) return null;
    const range = this.#present;
    if (range === null || this.#isOver(range) || this.stages.isSuspended(range.table.collection.uuid)) return null;
    const { table, partition, entries } = range;
    return {
      collection: table.collection,
      entries: this.#removable(entries),
      left: (dropped) => partition.raiseDropped(dropped),
    };
  }

  /** @returns false when the set is not full, or has no range to give up */
  async #begin(): Promise<boolean> {
    const { rereads, clock } = this.stages;
    if (!rereads.isFull || clock.monotonic_ms() < this.#notBefore_ms) return false;
    const range = this.#densest();
    if (range === null) {
      this.#notBefore_ms = clock.monotonic_ms() + lookAgain_ms;
      return false;
    }
    const { table, partition } = range;
    // Stored first: events dropped from here on are only in the copy to come.
    partition.startReopening();
    await table.persist();
    // The documents that its scan would have re-read are copied again.
    if (partition.scan !== null) await table.leaveRecordOrder('changes');
    // Events beyond the dispatched position may have been applied: an earlier read would revert them.
    partition.reopen(this.stages.dispatcher.latest);
    this.#present = range;
    return true;
  }

  /** Finishes the range when the set has none of its keys: the partition may be copied. */
  #isOver(range: Range): boolean {
    const { rereads, tables, copier } = this.stages;
    const { table, partition, entries } = range;
    const isFollowed = tables.get(table.collection.uuid) === table;
    if (isFollowed) {
      dropGone(entries, rereads);
      // Statements in flight have added more of its keys.
      if (entries.length === 0) entries.push(...this.#keysOf(table, partition));
      if (entries.length > 0) return false;
    }
    this.#present = null;
    partition.finishReopening();
    if (isFollowed) copier.reopened();
    return true;
  }

  /**
   * Some entries from the end. An insert in flight would bring back a document whose delete the entry has absorbed,
   * and no later copy removes it.
   */
  #removable(entries: readonly RereadEntry[]): RereadEntry[] {
    const removable: RereadEntry[] = [];
    for (const entry of entries.toReversed()) {
      if (removable.length === handedOutMax) break;
      const answered = entry.durable && entry.notBefore_ms < Infinity;
      if (answered && this.stages.rereads.has(entry)) removable.push(entry);
    }
    return removable.reverse();
  }

  #keysOf(table: PartitionTable, partition: Partition): RereadEntry[] {
    const keys: RereadEntry[] = [];
    for (const entry of this.stages.rereads.entries())
      if (entry.collection === table.collection && table.find(entry.id) === partition) keys.push(entry);
    return keys;
  }

  /**
   * The partition with most keys, of those that are not being copied. Capped collections are excluded, since their
   * documents cannot be deleted.
   */
  #densest(): Range | null {
    const { rereads, tables, isSuspended, copier } = this.stages;
    const ranges = new Map<Partition, Range>();
    for (const entry of rereads.entries()) {
      const { uuid, capped } = entry.collection;
      const table = tables.get(uuid);
      if (table === undefined || capped || isSuspended(uuid)) continue;
      const partition = table.find(entry.id);
      if ((partition.state !== 'done' && partition.state !== 'waiting') || copier.isTaken(partition)) continue;
      const range = ranges.get(partition) ?? { table, partition, entries: [] };
      range.entries.push(entry);
      ranges.set(partition, range);
    }
    let densest: Range | null = null;
    for (const range of ranges.values())
      if (densest === null || range.entries.length > densest.entries.length) densest = range;
    return densest;
  }
}

/** From the end, where keys are removed. */
function dropGone(entries: RereadEntry[], rereads: RereadSet): void {
  for (let last = entries.at(-1); last !== undefined && !rereads.has(last); last = entries.at(-1)) entries.pop();
}
