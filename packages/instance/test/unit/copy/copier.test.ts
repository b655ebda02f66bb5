import { beforeEach, describe, expect, it } from 'vitest';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { only } from '../../../../../test/only.js';
import { Copier, type CopyDependencies } from '../../../src/copy/copier.js';
import type { copyPartition } from '../../../src/copy/copy-partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { collectionOf, never, settled } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';

const [orders, items] = ['aa', 'bb'].map((digits) => digits.repeat(16)) as [string, string];
let started: string[];
let copy: typeof copyPartition;
let copier: Copier;
let failure: unknown;

function tableOf(uuid: string): PartitionTable {
  return PartitionTable.fresh(collectionOf({ uuid }), [], () => Promise.resolve());
}

async function run(tables: PartitionTable[]): Promise<void> {
  copier = new Copier(tables, only<CopyDependencies>({ readers: 2 }), () => copy);
  void copier.run(never, never).catch((error: unknown) => (failure = error));
  await settled();
}

beforeEach(() => {
  started = [];
  failure = null;
  // Copies until the signal; then the partition waits, dirty.
  copy = ({ table, partition, stop }) => {
    started.push(table.collection.uuid);
    bringTo(partition, 'copying');
    return new Promise((_resolve, reject) => {
      stop.addEventListener('abort', () => {
        partition.markDirty();
        partition.abandon();
        reject(stop.reason as Error);
      });
    });
  };
});

describe('a suspended collection', () => {
  it('is not copied until it is resumed, while others are', async () => {
    await run([tableOf(orders), tableOf(items)]);
    copier.suspend(orders);
    await expect(copier.quiet(orders, never)).resolves.toBeUndefined();
    await settled();
    expect([started, failure]).toEqual([[orders, items], null]);
    copier.resume(orders);
    await settled();
    expect(started).toEqual([orders, items, orders]);
  });

  it('does not start, and is quiet at once', async () => {
    await run([]);
    copier.suspend(orders);
    copier.add(tableOf(orders));
    await settled();
    await expect(copier.quiet(orders, never)).resolves.toBeUndefined();
    expect(started).toEqual([]);
  });

  it('does not restart once removed', async () => {
    const table = tableOf(orders);
    await run([table]);
    copier.suspend(orders);
    await copier.quiet(orders, never);
    copier.remove(table);
    copier.resume(orders);
    await settled();
    expect(started).toEqual([orders]);
  });

  it('still fails with a failure of its own', async () => {
    const refused = new ConvoyError('writeRefused', 'code 1');
    const untilSuspended = copy;
    copy = (...given) => untilSuspended(...given).catch(() => Promise.reject(refused));
    await run([tableOf(orders)]);
    copier.suspend(orders);
    await settled();
    expect(failure).toBe(refused);
  });

  it('fails when its closing write is in flight, whose outcome is unknown', async () => {
    const lost = new Error('the answer was lost');
    copy = ({ partition, stop }) => {
      bringTo(partition, 'copying');
      partition.endReading(0n);
      partition.close();
      return new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(lost)));
    };
    await run([tableOf(orders)]);
    copier.suspend(orders);
    await settled();
    expect(failure).toBe(lost);
  });
});

it('an added collection is copied', async () => {
  await run([]);
  copier.add(tableOf(items));
  await settled();
  expect(started).toEqual([items]);
});

describe('a collection that can only be read after the commit time', () => {
  it('does not block a reader, and starts with a later commit time', async () => {
    await run([]);
    copier.setCommitTime(10n);
    const renamed = ['cc', 'dd'].map((digits) =>
      PartitionTable.fresh(collectionOf({ uuid: digits.repeat(16), notBefore: 11n }), [], () => Promise.resolve()),
    );
    for (const table of [...renamed, tableOf(orders)]) copier.add(table);
    await settled();
    expect(started).toEqual([orders]);
    copier.setCommitTime(11n);
    await settled();
    expect(started).toEqual([orders, 'cc'.repeat(16)]);
  });
});
