import type { Clock } from '../../cluster/clock.js';
import type { GivenUpRange } from '../../reread/reread-dependencies.js';
import type { Partition } from '../../store/partition.js';
import type { PartitionTable } from '../../store/partition-table.js';
import type { RereadEntry, RereadSet } from '../../store/reread-set.js';

/** What the relief of a repair set needs of a share. */
export interface ReliefStages {
  rereads: RereadSet;
  clock: Clock;
  /** Partitions by the UUID of their collection. */
  tables: ReadonlyMap<string, PartitionTable>;
  /** Time of the latest event that was routed. */
  latest(): bigint;
  /** Whether nothing of a collection may be sent for now. */
  isSuspended: (uuid: string) => boolean;
  /** Whether the copy has taken a partition up; it may wait between two attempts. */
  isTaken: (partition: Partition) => boolean;
  /** Called when a partition is to be copied anew. */
  onReopened: () => void;
}

interface Range {
  table: PartitionTable;
  partition: Partition;
  /** Keys of it; those that have left the set are dropped from the end. */
  entries: RereadEntry[];
}

/** Keys that are handed out at a time: as many as are read at once. */
const handedOutMax = 500;
/** A full set of which no range could be given up is not looked through for one all the time. */
const lookAgain_ms = 5_000;

/**
 * Keeps a repair set within its bound: when it is full, the partition that most of its keys lie in waits again, dirty, and is copied anew
 * once the documents of its keys are gone.
 */
export class RereadRelief {
  /** The range that is given up, until none of its keys is left in the set. */
  #present: Range | null = null;
  #notBefore_ms = -Infinity;

  constructor(private readonly stages: ReliefStages) {}

  /**
   * The range whose keys are to leave the set now. That its partition waits, dirty, is durable by then: a process that dies here leaves a
   * partition that is copied anew and keys that are read after that.
   */
  async next(): Promise<GivenUpRange | null> {
    if (this.#present === null && !(await this.#begin())) return null;
    const range = this.#present;
    if (range === null || this.#isOver(range) || this.stages.isSuspended(range.table.collection.uuid)) return null;
    const { table, partition, entries } = range;
    return {
      collection: table.collection,
      entries: entries.slice(-handedOutMax),
      left: (dropped) => partition.raiseDropped(dropped),
    };
  }

  /** @returns false when the set is not full, or has nothing that could be given up */
  async #begin(): Promise<boolean> {
    const { rereads, clock } = this.stages;
    if (!rereads.isFull || clock.monotonic_ms() < this.#notBefore_ms) return false;
    const range = this.#densest();
    if (range === null) {
      this.#notBefore_ms = clock.monotonic_ms() + lookAgain_ms;
      return false;
    }
    const { table, partition } = range;
    // Stored first: events that are dropped from here on are in the copy to come, and nowhere else.
    partition.startReopening();
    await table.persist();
    // Events beyond the routed position may have been applied: a copy that is read earlier would take them back.
    partition.reopen(this.stages.latest());
    this.#present = range;
    return true;
  }

  /** Ends with the range when none of its keys is left: the partition may be copied. */
  #isOver(range: Range): boolean {
    const { rereads, tables, onReopened } = this.stages;
    const { table, partition, entries } = range;
    const isFollowed = tables.get(table.collection.uuid) === table;
    if (isFollowed) {
      dropGone(entries, rereads);
      // Statements that were under way have brought more of them.
      if (entries.length === 0) entries.push(...this.#keysOf(table, partition));
      if (entries.length > 0) return false;
    }
    this.#present = null;
    partition.finishReopening();
    if (isFollowed) onReopened();
    return true;
  }

  #keysOf(table: PartitionTable, partition: Partition): RereadEntry[] {
    const keys: RereadEntry[] = [];
    for (const entry of this.stages.rereads.entries())
      if (entry.collection === table.collection && table.find(entry.id) === partition) keys.push(entry);
    return keys;
  }

  /** Of all partitions that are not being copied the one with most keys. Documents cannot be deleted from capped collections. */
  #densest(): Range | null {
    const { rereads, tables, isSuspended, isTaken } = this.stages;
    const ranges = new Map<Partition, Range>();
    for (const entry of rereads.entries()) {
      const { uuid, capped } = entry.collection;
      const table = tables.get(uuid);
      if (table === undefined || capped || isSuspended(uuid)) continue;
      const partition = table.find(entry.id);
      if ((partition.state !== 'done' && partition.state !== 'waiting') || isTaken(partition)) continue;
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

/** From the end on, where keys are handed out. */
function dropGone(entries: RereadEntry[], rereads: RereadSet): void {
  for (let last = entries.at(-1); last !== undefined && !rereads.has(last); last = entries.at(-1)) entries.pop();
}
