import { beforeEach, describe, expect, it } from 'vitest';
import { CappedEnds, UncertainEnd } from '../../../src/copy/copy-capped.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import type { ChangeEvent } from '../../../src/store/change-event.js';
import type { Partition } from '../../../src/store/partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { changeOf, collectionOf, never, rawOf } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';

/** Events that fill the budget. */
const eventsMax = 10;
const event_bytes = 100;
const end = 1000n;

let budget: ByteBudget;
let partition: Partition;
let stream: { partition: Partition; event: ChangeEvent }[];
let ends: CappedEnds;

function cappedPartition(): Partition {
  const [only] = PartitionTable.fresh(collectionOf({ capped: true }), [], () => Promise.resolve()).partitions;
  if (only === undefined) throw new Error('a table has a partition');
  bringTo(only, 'copying');
  return only;
}

beforeEach(() => {
  budget = new ByteBudget(eventsMax * event_bytes);
  partition = cappedPartition();
  stream = [];
  // Reads while the budget has room, as the stream of a task does.
  const untilRoutedOrFull = async (): Promise<boolean> => {
    await Promise.resolve();
    while (!budget.isFull) {
      const next = stream.shift();
      if (next === undefined) return true;
      budget.take(next.event.bytes);
      next.partition.buffer(next.event);
    }
    return false;
  };
  ends = new CappedEnds(budget, { untilRoutedOrFull });
});

/** Inserts of the `_id`s `from` to `to`; the time is the `_id`. */
function inserts(from: number, to: number, of = partition): void {
  for (let id = from; id <= to; id += 1) stream.push({ partition: of, event: changeOf(id, BigInt(id)) });
}

function change(operation: ChangeEvent['operation'], id: number, time: bigint): void {
  stream.push({ partition, event: changeOf(id, time, { operation }) });
}

function settle(last: number, of = partition): Promise<void> {
  return ends.settle(of, { last: rawOf(last), end }, never);
}

describe('a capped copy whose events fill the budget', () => {
  it('drops the inserts that it includes, keeps later events, and ends', async () => {
    inserts(1, 50);
    change('update', 7, 51n);
    inserts(52, 100);
    change('delete', 100, end + 1n);
    inserts(101, 102);
    await settle(100);
    expect(partition.buffered.map(({ operation, time }) => [operation, time])).toEqual([
      ['update', 51n],
      ['delete', end + 1n],
      ['insert', 101n],
      ['insert', 102n],
    ]);
    expect(budget.used).toBe(partition.buffered.length * event_bytes);
    expect(partition.dropped).toBe(100n);
  });

  it('drops the events of an _id before its insert', async () => {
    change('delete', 5, 1n);
    inserts(2, 30);
    await settle(30);
    expect(partition.buffered).toEqual([]);
  });

  it('fails when its last document is older than the dropped inserts', async () => {
    inserts(1, 30);
    await expect(settle(0)).rejects.toThrow(UncertainEnd);
    expect(partition.dropped).toBe(30n);
  });

  it('fails when the changes of its documents exceed the budget', async () => {
    inserts(1, 5);
    for (let time = 6n; time < 30n; time += 1n) change('update', 1, time);
    await expect(settle(5)).rejects.toThrow(UncertainEnd);
  });

  it('drops nothing when other events fill the budget', async () => {
    budget.take(eventsMax * event_bytes - event_bytes);
    inserts(1, 3);
    const settling = settle(0);
    await new Promise((resolve) => setImmediate(resolve));
    budget.give(eventsMax * event_bytes - event_bytes);
    await settling;
    expect(partition.buffered).toHaveLength(3);
  });
});

it('two copies that fill the budget together both end', async () => {
  const other = cappedPartition();
  for (let id = 1; id <= 40; id += 1) inserts(id, id, id % 2 === 0 ? partition : other);
  await Promise.all([settle(40), settle(39, other)]);
  expect([partition.buffered, other.buffered]).toEqual([[], []]);
});
