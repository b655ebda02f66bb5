import { Double, Int32, Long, ObjectId } from 'mongodb';
import { describe, expect, it, test } from 'vitest';
import { minKey } from '../../../src/bson/scan.js';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import type { RawBatch } from '../../../src/cluster/node-client.js';
import { copyPartition } from '../../../src/copy/copy-partition.js';
import { CopyConcurrency } from '../../../src/copy/copy-pace.js';
import type { Partition } from '../../../src/store/partition.js';
import type { PartitionTable } from '../../../src/store/partition-table.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { batchOf } from '../model/calls.js';
import { bytesOf, collectionOf, never, rawOf } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';
import { routedStream } from '../model/routed-stream.js';
import { NotedWrites } from '../noted-writes.js';
import { copyDeps, cursorClient, stillClock, wholeTable } from './copy-fixture.js';

/** Copies a partition with these `_id`s in the server's order. Every batch has one and exceeds `partition_seconds`. */
async function copyOf(
  ids: readonly unknown[],
  changes: Partial<SyncedCollection>,
  untilNamed: (table: PartitionTable) => Promise<void> = () => Promise.resolve(),
): Promise<{ table: PartitionTable; partition: Partition }> {
  let now_ms = 0;
  const rest = ids.map((_id, sk) => bytesOf({ _id, sk }));
  const take = (): RawBatch => {
    now_ms += 1000;
    return batchOf(rest.splice(0, 1), { atClusterTime: timestampOf(5n) });
  };
  const clock = { ...stillClock, now_ms: () => now_ms, monotonic_ms: () => now_ms };
  const { table, partition } = wholeTable(collectionOf(changes));
  const writes = new NotedWrites();
  const deps = copyDeps({
    shard: cursorClient(take, () => rest.length > 0),
    write: (one) => writes.write(one),
    clock,
    stream: routedStream({ untilNamed: () => untilNamed(table) }),
    partition_seconds: 0.5,
    concurrency: new CopyConcurrency(clock, { readers: 1, writers: 2 }),
  });
  await copyPartition({ table, partition, deps, stop: never, hard: never });
  return { table, partition };
}

test('a partition is not split between documents of one id class', async () => {
  // Through a router, documents of different shards with `_id`s of one class are neighbours.
  const { table, partition } = await copyOf([new Int32(1), new Double(1), new Long(1), new Int32(2)], {
    readBy: 'name',
  });
  expect(partition.documents).toBe(3);
  expect(table.partitions[1]?.lower).toEqual(rawOf(new Int32(2)));
});

test('the rest of a partition keeps the end of its own reading, which may precede that of the first part', async () => {
  const { table } = await copyOf([1, 2], { readBy: 'name' }, ({ partitions: [, rest] }) => {
    // Meanwhile another reader has copied it.
    if (rest !== undefined) bringTo(rest, 'done', 50n, 60n);
    return Promise.resolve();
  });
  expect(table.partitions.map(({ readEnd }) => readEnd)).toEqual([5n, 60n]);
});

describe('a partition under a collation, for which only the server knows the order of strings', () => {
  const text = { a: 'text' };
  const objectId = new ObjectId();

  it('is split before an _id without a string', async () => {
    const { table, partition } = await copyOf(['b', 'A', text, objectId], { collated: true });
    expect(partition.documents).toBe(3);
    expect(table.partitions.map(({ lower }) => lower)).toEqual([minKey, rawOf(objectId)]);
    for (const id of ['Z', { a: 'zebra' }, 1]) expect(table.find(rawOf(id))).toBe(partition);
  });

  it('is not split before an _id that contains a string', async () => {
    const { table, partition } = await copyOf([1, 'b', 'A', text, { a: { b: ['text'] } }, ['text']], {
      collated: true,
    });
    expect([partition.documents, table.done]).toEqual([6, true]);
  });
});
