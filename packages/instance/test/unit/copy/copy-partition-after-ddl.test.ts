import { expect, test } from 'vitest';
import { only } from '../../../../../test/only.js';
import type { CopyDependencies } from '../../../src/copy/copier.js';
import { beginReading } from '../../../src/copy/copy-partition.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { collectionOf, never } from '../model/parts.js';
import { routedStream } from '../model/routed-stream.js';

test('a collection is read at or after its last DDL change', async () => {
  const table = PartitionTable.fresh(collectionOf({ notBefore: 35n }), [], () => Promise.resolve());
  const [partition] = table.partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  const waitedFor: bigint[] = [];
  const untilRouted = (time: bigint): Promise<void> => Promise.resolve(void waitedFor.push(time));
  const deps = only<CopyDependencies>({ stream: routedStream({ position: 20n, untilRouted }) });
  await beginReading({ table, partition, deps, stop: never });
  expect([partition.readTime, waitedFor]).toEqual([35n, [35n]]);
});
