import { BSON, type Document } from 'mongodb';
import { beforeEach, expect, test } from 'vitest';
import { decodeValue } from '../../../src/bson/scan.js';
import { systemClock } from '../../../src/async/clock.js';
import type { RawWrite, WriteFailure, WriteOutcome } from '../../../src/cluster/node-client.js';
import { CopyConcurrency } from '../../../src/copy/copy-pace.js';
import { PartitionWriter } from '../../../src/copy/partition-writer.js';
import { ByteBudget } from '../../../src/async/waiting.js';
import { PartitionTable } from '../../../src/store/partition-table.js';
import { RereadSet } from '../../../src/store/reread-set.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { bytesOf, collectionOf, never, zeroTimestamp } from '../model/parts.js';
import { bringTo } from '../model/partition-states.js';

let sent: RawWrite[];
let failures: WriteFailure[];

beforeEach(() => {
  [sent, failures] = [[], []];
});

/** @returns the re-read requests */
async function write(
  collection: SyncedCollection,
  replaces: boolean,
  documents: Document[],
): Promise<[unknown, string][]> {
  const [partition] = PartitionTable.fresh(collection, [], () => Promise.resolve()).partitions;
  if (partition === undefined) throw new Error('a table has a partition');
  bringTo(partition, 'copying');
  partition.markDirty();
  const budget = new ByteBudget(1_000_000);
  const take = (one: RawWrite): Promise<WriteOutcome> => {
    sent.push(one);
    return Promise.resolve({ n: one.statements.length, nModified: 0, upserted: 0, failures });
  };
  const rereads = new RereadSet({ upsert: () => Promise.resolve(), remove: () => Promise.resolve() }, budget);
  const writer = new PartitionWriter(collection, partition, replaces, {
    writer: { write: take },
    rereads,
    budget,
    concurrency: new CopyConcurrency(systemClock, { readers: 1, writers: 1 }),
  });
  await writer.write(documents.map(bytesOf), never);
  await writer.finish();
  return [...rereads.entries()].map(({ id, reason }) => [decodeValue(id), reason]);
}

function statementsOf(kind: RawWrite['kind']): Document[] {
  return sent
    .filter((one) => one.kind === kind)
    .flatMap(({ statements }) => statements.map((bytes) => BSON.deserialize(bytes)));
}

test('documents with Timestamp(0,0), which an insert would change, are upserted', async () => {
  await write(collectionOf(), false, [
    { _id: 1, sk: 1 },
    { _id: 2, sk: 1, at: zeroTimestamp },
    { _id: 3, sk: 1 },
  ]);
  expect(statementsOf('insert').map(({ _id }) => _id as number)).toEqual([1, 3]);
  expect(statementsOf('update')).toMatchObject([
    { q: { _id: 2, sk: 1 }, u: [{ $replaceWith: { $literal: { at: zeroTimestamp } } }], upsert: true },
  ]);
});

test('filters of a sharded collection with a collation name the simple one', async () => {
  await write(collectionOf({ collated: true }), true, [{ _id: 'a', sk: 1 }]);
  await write(collectionOf({ collated: true, sourceKey: [], destinationKey: [] }), true, [{ _id: 'a' }]);
  expect(statementsOf('update').map(({ collation }) => collation as unknown)).toEqual([
    { locale: 'simple' },
    undefined,
  ]);
});

test('a document that an index refuses is re-read; the others are written', async () => {
  failures = [{ index: 1, code: 16755, message: '' }];
  expect(
    await write(collectionOf(), false, [
      { _id: 'a', sk: 1 },
      { _id: 'b', sk: 1 },
    ]),
  ).toEqual([['b', 'indexKeys']]);
});

test('a document with an unknown write outcome is re-read', async () => {
  failures = [{ index: 0, code: 217, message: '' }];
  expect(
    await write(collectionOf(), false, [
      { _id: 'a', sk: 1 },
      { _id: 'b', sk: 1 },
    ]),
  ).toEqual([['a', 'unknownOutcome']]);
});

test('a document that validation refuses ends the copy', async () => {
  failures = [{ index: 0, code: 121, message: '' }];
  await expect(write(collectionOf(), false, [{ _id: 'a', sk: 1 }])).rejects.toMatchObject({ error: 'writeRefused' });
});
