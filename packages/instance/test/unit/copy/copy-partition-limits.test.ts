import { Binary } from 'mongodb';
import { expect, it } from 'vitest';
import { systemClock } from '../../../src/async/clock.js';
import type { RawWrite } from '../../../src/cluster/node-client.js';
import { assertWithinLimits } from '../../../src/cluster/driver/write-command.js';
import { batchDocumentsMax, BatchSize } from '../../../src/cluster/reads.js';
import { CopyConcurrency } from '../../../src/copy/copy-pace.js';
import { PartitionWriter } from '../../../src/copy/partition-writer.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import { bytesOf, collectionOf, never, withUndefined } from '../model/parts.js';
import { NotedWrites } from '../noted-writes.js';
import { wholeTable } from './copy-fixture.js';
import { bringTo } from '../model/partition-states.js';

/** Upper bound of the bytes in one reply. */
const replyBytesMax = 16 * 2 ** 20;

let rereads: RereadSet;

/** The writes of a partition's writer for one batch. */
async function writesOf(documents: readonly Uint8Array[], replaces: boolean): Promise<RawWrite[]> {
  const writes = new NotedWrites();
  const budget = new ByteBudget(1);
  rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget);
  const { table, partition } = wholeTable(collectionOf());
  bringTo(partition, 'copying');
  partition.markDirty();
  const writer = new PartitionWriter(table.collection, partition, replaces, {
    writer: writes,
    rereads,
    budget,
    concurrency: new CopyConcurrency(systemClock, { readers: 1, writers: 1 }),
  });
  await writer.write(documents, never);
  await writer.finish();
  return writes.sent;
}

it.each([true, false])(
  'a batch with one document of 16 MB meets the limits of servers (replaced: %s)',
  async (replaces) => {
    const document = bytesOf({ _id: 0, sk: 1, text: new Binary(new Uint8Array(16 * 2 ** 20 - 33)) });
    expect(document.length).toBe(replyBytesMax);
    const [write] = await writesOf([document], replaces);
    assertWithinLimits(write?.statements ?? []);
    expect(write?.statements[0]?.length).toBeLessThan(16 * 2 ** 20 + 16 * 1024);
  },
);

it('a document that fits into no statement beside its key is re-read', async () => {
  const large = bytesOf({ _id: 'i'.repeat(20_000), sk: 1, text: new Binary(new Uint8Array(16 * 2 ** 20 - 20_100)) });
  const writes = await writesOf([large, bytesOf({ _id: 2, sk: 1 })], true);
  expect(writes.map(({ statements }) => statements.length)).toEqual([1]);
  expect([...rereads.entries()].map(({ reason, id }) => [reason, id.bytes.length])).toEqual([
    ['largeStatement', 20_005],
  ]);
});

it('a document whose shard key no upsert can name is re-read', async () => {
  const writes = await writesOf([withUndefined({ _id: 1, sk: null }), bytesOf({ _id: 2, sk: null })], true);
  expect(writes.map(({ statements }) => statements.length)).toEqual([1]);
  expect([...rereads.entries()].map(({ reason }) => reason)).toEqual(['undefinedShardKey']);
});

it.each([true, false])(
  'the largest batch of small documents meets the limits of servers (replaced: %s)',
  async (replaces) => {
    const document = bytesOf({
      _id: 0,
      sk: 1,
      text: new Binary(new Uint8Array(Math.floor(replyBytesMax / batchDocumentsMax) - 41)),
    });
    const writes = await writesOf(
      Array.from({ length: batchDocumentsMax }, () => document),
      replaces,
    );
    for (const { statements } of writes) assertWithinLimits(statements);
    expect(writes.flatMap(({ statements }) => statements)).toHaveLength(batchDocumentsMax);
  },
);

it('a reader never requests more documents than one command holds', () => {
  const size = new BatchSize(0);
  size.received({ documents: [new Uint8Array(0)], bytes: 1 });
  expect(size.documents).toBeLessThanOrEqual(10_000);
});
