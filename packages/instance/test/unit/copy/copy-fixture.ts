import type { Document } from 'mongodb';
import type { Clock } from '../../../src/async/clock.js';
import type { NodeClient, RawBatch, RawCursor, RawWrite, WriteOutcome } from '../../../src/cluster/node-client.js';
import { CappedEnds } from '../../../src/copy/copy-capped.js';
import type { CopyDependencies } from '../../../src/copy/copier.js';
import { CopyConcurrency, ReadRate } from '../../../src/copy/copy-pace.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { Partition } from '../../../src/store/partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { once } from '../model/parts.js';
import { routedStream } from '../model/routed-stream.js';
import { clientWith } from '../model/client-with.js';

/** A stopped clock. */
export const stillClock: Clock = {
  now_ms: () => 0,
  monotonic_ms: () => 0,
  random: () => 0,
  sleep: () => Promise.resolve(),
};

/** A collection's table with its one partition. */
export function wholeTable(
  collection: SyncedCollection,
  persist: () => Promise<void> = () => Promise.resolve(),
): { table: PartitionTable; partition: Partition } {
  const table = PartitionTable.fresh(collection, [], persist);
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  return { table, partition };
}

/** A client with cursors only: `take` returns their batches, `isOpen` whether there are more. */
export function cursorClient(
  take: () => RawBatch,
  isOpen: () => boolean,
  opened: (command: Document) => void = () => undefined,
): NodeClient {
  const openCursor = (_database: string, command: Document): Promise<RawCursor> => {
    opened(command);
    return Promise.resolve({
      first: take(),
      get open() {
        return isOpen();
      },
      next: () => Promise.resolve(take()),
      close: () => Promise.resolve(),
    });
  };
  return clientWith({ label: 'source', openCursor });
}

/** Dependencies with which the copy never waits: the stream is at 5, and every write of state succeeds. */
export function copyDeps({
  write = () => Promise.reject(new Error('the test has no write')),
  ...others
}: { shard: NodeClient; write?: (one: RawWrite) => Promise<WriteOutcome> } & Partial<
  Omit<CopyDependencies, 'writer'>
>): CopyDependencies {
  const clock = others.clock ?? stillClock;
  const budget = new ByteBudget(1_000_000);
  return {
    writer: { write },
    rereads: new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget),
    retrying: once,
    clock,
    budget,
    rate: new ReadRate(clock, null),
    concurrency: new CopyConcurrency(clock, { readers: 1, writers: 1 }),
    stream: routedStream(),
    cappedEnds: new CappedEnds(new ByteBudget(1_000_000), routedStream()),
    restarts: { recreate: () => Promise.resolve(), startsInIdOrder: () => Promise.resolve([]) },
    partition_seconds: 20,
    readers: 1,
    ...others,
  };
}
