import type { Document } from 'mongodb';
import type { Clock } from '../../../src/cluster/clock.js';
import type { Door, RawBatch, RawCursor, RawWrite, WriteOutcome } from '../../../src/cluster/door.js';
import { CappedEnds } from '../../../src/copy/capped-end.js';
import type { CopyContext } from '../../../src/copy/copy-context.js';
import { CopyWidth } from '../../../src/copy/copy-width.js';
import { ReadRate } from '../../../src/copy/read-rate.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { type Partition, PartitionTable } from '../../../src/store/partition-table.js';
import { RepairSet } from '../../../src/store/repair-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { once } from '../model/parts.js';

/** A clock that stands still. */
export const stillClock: Clock = { now_ms: () => 0, monotonic_ms: () => 0, random: () => 0, sleep: () => Promise.resolve() };

/** A collection's table with its one partition. */
export function wholeTable(collection: SyncedCollection, persist: () => Promise<void> = () => Promise.resolve()): { table: PartitionTable; partition: Partition } {
  const table = PartitionTable.fresh(collection, [], persist);
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  return { table, partition };
}

/** A door that has nothing but cursors: `take` makes their batches while `isOpen` says that there are more. */
export function cursorDoor(take: () => RawBatch, isOpen: () => boolean, opened: (command: Document) => void = () => undefined): Door {
  const openCursor = (_database: string, command: Document): Promise<RawCursor> => {
    opened(command);
    return Promise.resolve({ first: take(), get open() { return isOpen(); }, next: () => Promise.resolve(take()), close: () => Promise.resolve() });
  };
  return { label: 'source', openCursor } as unknown as Door;
}

/** Surroundings in which the copy never waits: the stream is at 5, and what has to be stored is stored. */
export function copyContext(
  { write, ...others }: { shard: Door; write: (one: RawWrite) => Promise<WriteOutcome> } & Partial<Omit<CopyContext, 'writer'>>,
): CopyContext {
  const clock = others.clock ?? stillClock;
  const budget = new ByteBudget(1_000_000);
  return {
    writer: { write } as never,
    repairs: new RepairSet({ put: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    retrying: once,
    clock,
    budget,
    rate: new ReadRate(clock, null),
    width: new CopyWidth(clock, { readers: 1, writers: 1 }),
    position: () => 5n,
    untilReady: () => Promise.resolve(),
    untilRouted: () => Promise.resolve(),
    untilNamed: () => Promise.resolve(),
    untilFlushed: () => Promise.resolve(),
    release: () => undefined,
    cappedEnds: new CappedEnds({ budget: new ByteBudget(1_000_000), untilRoutedOrFull: () => Promise.resolve(true) }),
    recreate: () => Promise.resolve(),
    partition_seconds: 20,
    readers: 1,
    ...others,
  };
}
