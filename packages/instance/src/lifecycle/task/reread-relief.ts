import type { EventDispatcher } from '../../apply/event-dispatcher.js';
import type { Clock } from '../../async/clock.js';
import type { Copier } from '../../copy/copier.js';
import type { GivenUpRange, RangeRelief } from '../../reread/reread-batch.js';
import type { PartitionTable } from '../../store/partition-table.js';
import type { Partition } from '../../store/partition.js';
import type { RereadEntry, RereadSet } from '../../store/reread-set.js';
import type { UndoneEntries } from './task-ddl.js';

/** What the relief of a re-read set needs of a sync task. */
export interface ReliefStages {
  rereads: RereadSet;
  clock: Clock;
  /** Partitions by the UUID of their collection. */
  tables: ReadonlyMap<string, PartitionTable>;
  dispatcher: EventDispatcher;
  copier: Copier;
  undone: UndoneEntries;
}

/** Partitions of one collection. */
interface Range {
  table: PartitionTable;
  partitions: Set<Partition>;
  /** Their keys; keys that have left the re-read set are dropped from the end. */
  entries: RereadEntry[];
}

interface PartitionKeys {
  table: PartitionTable;
  partition: Partition;
  entries: RereadEntry[];
}

/** Keys that are removed at a time: as many as one read takes. */
const handedOutMax = 500;
/** The fraction of the set that is given up at a time: each time, all its keys are searched. */
const givenUpFraction = 0.1;
/** A full set without a range to give up is not searched again before this time. */
const lookAgain_ms = 5_000;

/**
 * Bounds a re-read set. When it is full, the partition with most of its keys goes back to waiting, dirty, and the next
 * ones of its collection with it. They are copied again once the documents of those keys are deleted. Until the set is
 * no longer full, its size also bounds the apply workers.
 */
export class RereadRelief implements RangeRelief {
  /** The range that is given up, until the set has none of its keys. */
  #present: Range | null = null;
  #notBefore_ms = -Infinity;

  constructor(private readonly stages: ReliefStages) {}

  /**
   * The range whose keys should leave the set now. By then its waiting, dirty partitions are durable. A crash at this
   * point leaves partitions to copy again, and keys to read after that.
   */
  async next(): Promise<GivenUpRange | null> {
    const range = await this.#unfinished();
    const entries = range === null ? [] : this.#removable(range.entries);
    // Workers must not wait for what may wait for them.
    this.stages.rereads.relieved(entries.length > 0);
    if (range === null) return null;
    return {
      collection: range.table.collection,
      entries,
      left: (dropped) => {
        for (const partition of range.partitions) partition.raiseDropped(dropped);
      },
    };
  }

  /** One range after the other while the set is full: a re-read in between may wait for events, hence for workers. */
  async #unfinished(): Promise<Range | null> {
    for (;;) {
      this.#present ??= await this.#begin();
      const range = this.#present;
      if (range === null) return null;
      if (!this.#isOver(range)) return this.stages.undone.isSuspended(range.table.collection.uuid) ? null : range;
    }
  }

  /** @returns null when the set is not full, or has no range to give up */
  async #begin(): Promise<Range | null> {
    const { rereads, clock } = this.stages;
    if (!rereads.isFull || clock.monotonic_ms() < this.#notBefore_ms) return null;
    const range = this.#densest();
    if (range === null) {
      this.#notBefore_ms = clock.monotonic_ms() + lookAgain_ms;
      return null;
    }
    const { table, partitions } = range;
    // Stored first: events dropped from here on are only in the copy to come.
    for (const partition of partitions) partition.startReopening();
    await table.persist();
    // The documents that its scan would have re-read are copied again.
    if ([...partitions].some(({ scan }) => scan !== null)) await table.leaveRecordOrder('changes');
    // Events beyond the routed position may have been applied: an earlier read would revert them.
    for (const partition of partitions) partition.reopen(this.stages.dispatcher.latest);
    return range;
  }

  /** Finishes the range when the set has none of its keys: the partitions may be copied. */
  #isOver(range: Range): boolean {
    const { rereads, tables, copier } = this.stages;
    const { table, partitions, entries } = range;
    const isFollowed = tables.get(table.collection.uuid) === table;
    if (isFollowed) {
      dropGone(entries, rereads);
      // Statements in flight have added more of its keys.
      if (entries.length === 0) entries.push(...this.#keysOf(table, partitions));
      if (entries.length > 0) return false;
    }
    this.#present = null;
    for (const partition of partitions) partition.finishReopening();
    if (isFollowed) copier.reopened();
    return true;
  }

  /**
   * Some entries from the end. An insert in flight would bring back a document whose delete the entry has absorbed,
   * and no later copy removes it.
   */
  #removable(entries: readonly RereadEntry[]): RereadEntry[] {
    const removable: RereadEntry[] = [];
    for (let index = entries.length - 1; index >= 0 && removable.length < handedOutMax; index -= 1) {
      const entry = entries[index];
      if (entry === undefined) break;
      const answered = entry.durable && entry.notBefore_ms < Infinity;
      if (answered && this.stages.rereads.has(entry)) removable.push(entry);
    }
    return removable.reverse();
  }

  #keysOf(table: PartitionTable, partitions: ReadonlySet<Partition>): RereadEntry[] {
    const keys: RereadEntry[] = [];
    for (const entry of this.stages.rereads.entries())
      if (entry.collection === table.collection && partitions.has(table.find(entry.id))) keys.push(entry);
    return keys;
  }

  /**
   * The partition with most keys, and the next ones of its collection up to a fraction of the set. Not those that are
   * being copied, nor capped collections, since their documents cannot be deleted.
   */
  #densest(): Range | null {
    const [densest, ...others] = this.#keysOfPartitions().toSorted((a, b) => b.entries.length - a.entries.length);
    if (densest === undefined) return null;
    const { table, partition } = densest;
    const range: Range = { table, partitions: new Set([partition]), entries: densest.entries };
    for (const other of others) {
      if (range.entries.length >= this.stages.rereads.size * givenUpFraction) break;
      if (other.table !== table) continue;
      range.partitions.add(other.partition);
      for (const entry of other.entries) range.entries.push(entry);
    }
    return range;
  }

  /** The keys of every partition that can be given up. */
  #keysOfPartitions(): PartitionKeys[] {
    const { rereads, tables, undone, copier } = this.stages;
    const found = new Map<Partition, PartitionKeys>();
    for (const entry of rereads.entries()) {
      const { uuid, capped } = entry.collection;
      const table = tables.get(uuid);
      if (table === undefined || capped || undone.isSuspended(uuid)) continue;
      const partition = table.find(entry.id);
      if ((partition.state !== 'done' && partition.state !== 'waiting') || copier.isTaken(partition)) continue;
      const keys = found.get(partition) ?? { table, partition, entries: [] };
      keys.entries.push(entry);
      found.set(partition, keys);
    }
    return [...found.values()];
  }
}

/** From the end, where keys are removed. */
function dropGone(entries: RereadEntry[], rereads: RereadSet): void {
  for (let last = entries.at(-1); last !== undefined && !rereads.has(last); last = entries.at(-1)) entries.pop();
}
