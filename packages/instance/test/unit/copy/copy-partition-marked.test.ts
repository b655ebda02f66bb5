import { expect, test } from 'vitest';
import { timestampOf } from '../../../src/cluster/cluster-time.js';
import { copyPartition } from '../../../src/copy/copy-partition.js';
import { batchOf } from '../model/calls.js';
import { bytesOf, collectionOf, never, settled } from '../model/parts.js';
import { NotedWrites } from '../noted-writes.js';
import { copyDeps, cursorClient, wholeTable } from './copy-fixture.js';

test('a partition is durably dirty before its first write', async () => {
  const saves: (() => void)[] = [];
  const { table, partition } = wholeTable(collectionOf(), () => new Promise((resolve) => saves.push(resolve)));
  const shard = cursorClient(
    () => batchOf([bytesOf({ _id: 1, sk: 1 })], { atClusterTime: timestampOf(5n) }),
    () => false,
  );
  const writes = new NotedWrites();
  const deps = copyDeps({ shard, write: (one) => writes.write(one) });
  const copied = copyPartition({ table, partition, deps, stop: never, hard: never });
  for (let turn = 0; turn < 10; turn += 1) await settled();
  expect([saves.length, writes.sent.length]).toEqual([1, 0]);
  saves.shift()?.();
  for (let turn = 0; turn < 10; turn += 1) await settled();
  expect(writes.sent).toHaveLength(1);
  saves.shift()?.();
  await copied;
  expect(partition.state).toBe('done');
});
