import { expect, test } from 'vitest';
import { startingPoints } from '../../../src/copy/starting-points.js';
import { wholeRange } from '../../../src/store/partition-table.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { FakeDoor, serverError } from '../fake-door.js';

const collection: SyncedCollection = {
  uuid: '00'.repeat(16),
  database: 'db',
  name: 'c',
  capped: false,
  collated: false,
  readBy: 'uuid',
  showsOrphans: false,
  sourceKey: [],
  destinationKey: [],
  owns: () => true,
};
const plan = { sizeBytes: 64 * 1024 * 1024, range: wholeRange, startsMax: 4 };
const { signal } = new AbortController();

test('one reader begins when the random cursor of $sample fails, as real servers say it sporadically does', async () => {
  const shard = new FakeDoor('shard', {
    aggregate: () => {
      throw serverError(28_799, 'Location28799');
    },
  });
  expect(await startingPoints(shard, collection, plan, signal)).toEqual([]);
});

test('other failures of the sample are the caller\'s', async () => {
  const shard = new FakeDoor('shard', {
    aggregate: () => {
      throw serverError(13, 'Unauthorized');
    },
  });
  await expect(startingPoints(shard, collection, plan, signal)).rejects.toMatchObject({ code: 13 });
});
