import { expect, test } from 'vitest';
import { startingPoints } from '../../../src/copy/starting-points.js';
import type { SyncedCollection } from '../../../src/store/synced-collection.js';
import { FakeDoor, serverError } from '../fake-door.js';

const collection: SyncedCollection = {
  uuid: '00'.repeat(16),
  database: 'db',
  name: 'c',
  capped: false,
  collated: false,
  sourceKey: [],
  destinationKey: [],
  owns: () => true,
};
const size_bytes = 64 * 1024 * 1024;
const { signal } = new AbortController();

test('one reader begins when the random cursor of $sample fails, as real servers say it sporadically does', async () => {
  const shard = new FakeDoor('shard', {
    aggregate: () => {
      throw serverError(28_799, 'Location28799');
    },
  });
  expect(await startingPoints(shard, collection, size_bytes, 4, signal)).toEqual([]);
});

test('other failures of the sample are the caller\'s', async () => {
  const shard = new FakeDoor('shard', {
    aggregate: () => {
      throw serverError(13, 'Unauthorized');
    },
  });
  await expect(startingPoints(shard, collection, size_bytes, 4, signal)).rejects.toMatchObject({ code: 13 });
});
