import { expect, test } from 'vitest';
import type { CopyContext } from '../../../src/copy/copy-context.js';
import { copyPartition } from '../../../src/copy/copy-partition.js';
import { ReadRate } from '../../../src/copy/read-rate.js';
import type { Clock } from '../../../src/cluster/clock.js';
import { ByteBudget } from '../../../src/store/byte-budget.js';
import { FencedWriter } from '../../../src/store/fenced-writer.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { RepairSet } from '../../../src/store/repair-set.js';
import { FakeDoor, serverError } from '../fake-door.js';

const { signal } = new AbortController();

/** A clock on which sleeping costs no time and is noted. */
class NotedClock implements Clock {
  readonly slept: number[] = [];
  now_ms = (): number => 0;
  monotonic_ms = (): number => 0;
  random = (): number => 0;
  sleep(duration_ms: number): Promise<void> {
    this.slept.push(duration_ms);
    return Promise.resolve();
  }
}

function contextOf(shard: FakeDoor, clock: Clock): CopyContext {
  const budget = new ByteBudget(1024);
  const repairs = new RepairSet({ put: () => Promise.resolve(), remove: () => Promise.resolve() }, budget);
  return {
    shard,
    clock,
    budget,
    repairs,
    writer: new FencedWriter(shard, (_label, run) => run(), [], 1, () => Promise.resolve()),
    retrying: (_label, run) => run(),
    rate: new ReadRate(clock, null),
    position: () => 5n,
    untilReady: () => Promise.resolve(),
    untilRouted: () => Promise.resolve(),
    untilFlushed: () => Promise.resolve(),
    release: () => undefined,
    discard: () => undefined,
    recreate: () => Promise.resolve(),
    partition_seconds: 20,
    readers: 1,
  };
}

test('a time that cannot be read is tried again after growing pauses that outlast the tick of an idle shard', async () => {
  const clock = new NotedClock();
  const shard = new FakeDoor('shard', {
    find: () => {
      throw serverError(246, 'SnapshotUnavailable');
    },
  });
  const collection = { uuid: '00'.repeat(16), database: 'db', name: 'c', capped: false, collated: false, readBy: 'uuid' as const, showsOrphans: false, sourceKey: [], destinationKey: [], owns: () => true };
  const table = PartitionTable.fresh(collection, [], () => Promise.resolve());
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  await expect(copyPartition(table, partition, contextOf(shard, clock), signal, signal)).rejects.toMatchObject({ error: 'retriesExhausted' });
  expect(shard.sent).toHaveLength(10);
  expect(clock.slept).toHaveLength(9);
  expect(clock.slept[0]).toBeLessThan(1000);
  expect(clock.slept.reduce((sum, pause_ms) => sum + pause_ms, 0)).toBeGreaterThan(20_000);
});
