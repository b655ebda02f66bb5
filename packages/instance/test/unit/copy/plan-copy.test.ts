import { Int32 } from 'mongodb';
import { expect, test } from 'vitest';
import { startingPoints } from '../../../src/copy/plan-copy.js';
import { decodeValue, encodeValue, type RawValue } from '../../../src/bson/scan.js';
import { wholeRange } from '../../../src/store/partition.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { FakeNodeClient, serverError } from '../fake-node-client.js';

const collection: SyncedCollection = {
  uuid: '00'.repeat(16),
  database: 'db',
  name: 'c',
  destination: { database: 'db', name: 'c' },
  capped: false,
  collated: false,
  readBy: 'uuid',
  notBefore: 0n,
  showsOrphans: false,
  sourceKey: [],
  destinationKey: [],
  owns: () => true,
};
const plan = { sizeBytes: 64 * 1024 * 1024, seenPerOwned: 1, range: wholeRange, startsMax: 4 };
const { signal } = new AbortController();

test('there are none when the random cursor of $sample finds duplicates, as real servers sporadically do', async () => {
  const shard = new FakeNodeClient('shard', {
    aggregate: () => {
      throw serverError(28_799, 'Location28799');
    },
  });
  expect(await startingPoints(shard, collection, plan, signal)).toEqual([]);
});

test('other failures of the sample are thrown', async () => {
  const shard = new FakeNodeClient('shard', {
    aggregate: () => {
      throw serverError(13, 'Unauthorized');
    },
  });
  await expect(startingPoints(shard, collection, plan, signal)).rejects.toMatchObject({ code: 13 });
});

/** Every document once, in no order. */
function sampling(count: number): FakeNodeClient {
  return samplingOf(Array.from({ length: count }, (_, index) => (index * 37) % count));
}

/** A router whose `$sample` returns documents with these `_id`s, in one batch, as a server may. */
function samplingOf(ids: readonly number[]): FakeNodeClient {
  return new FakeNodeClient('router', () => ({
    cursor: { firstBatch: ids.map((_id) => ({ _id })), oneBatch: true },
  }));
}

const valueOf = (id: RawValue): unknown => decodeValue(id);

test('starting points lie inside the range, and the sample of a range is large enough for all readers', async () => {
  const range = { lower: encodeValue(new Int32(64)), upper: encodeValue(new Int32(128)) };
  const shard = sampling(256);
  const starts = await startingPoints(shard, collection, { ...plan, range, seenPerOwned: 4 }, signal);
  expect(shard.sent[0]?.command).toMatchObject({
    pipeline: [{ $sample: { size: 256 } }, { $project: { _id: 1 } }],
    cursor: { batchSize: 256 },
  });
  // 63 of the sample are inside: the lower bound is the start of the first partition.
  expect(starts.map(valueOf)).toEqual([81, 97, 113].map((id) => new Int32(id)));
});

test('starting points are distinct, and a sample outside the range gives none', async () => {
  const equal = samplingOf(Array.from({ length: 64 }, () => 7));
  expect((await startingPoints(equal, collection, plan, signal)).map(valueOf)).toEqual([new Int32(7)]);
  const range = { lower: encodeValue(new Int32(500)), upper: encodeValue(new Int32(600)) };
  expect(await startingPoints(sampling(64), collection, { ...plan, range }, signal)).toEqual([]);
});

test('there are none for a small part, a capped collection and a collation', async () => {
  const shard = sampling(64);
  expect(await startingPoints(shard, collection, { ...plan, sizeBytes: 16 * 1024 * 1024 - 1 }, signal)).toEqual([]);
  expect(await startingPoints(shard, { ...collection, capped: true }, plan, signal)).toEqual([]);
  expect(await startingPoints(shard, { ...collection, collated: true }, plan, signal)).toEqual([]);
  expect(shard.sent).toEqual([]);
});
