import type { Document } from 'mongodb';
import { expect, test } from 'vitest';
import { Metadata, metadataDatabase } from '../../../src/store/metadata.js';
import { openTestCluster } from '../catalog/clusters.js';

/** More than servers put into a first batch by default. */
const stored = 299;

test('metadata documents are found up to the requested number; without a batch size, up to 101', async () => {
  const signal = AbortSignal.timeout(120_000);
  await using opened = await openTestCluster('cluster1', 2, { direct: false });
  const { cluster, client } = opened;
  const database = client.db(metadataDatabase);
  const documents = Array.from({ length: stored }, (_, _id) => ({ _id, k: _id - 100, copy: 'c', task: 's' }));
  await database.collection<{ _id: number }>('mismatches').insertMany(documents, { writeConcern: { w: 'majority' } });

  const admin = client.db('admin');
  await admin.command({ enableSharding: metadataDatabase });
  await admin.command({ shardCollection: `${metadataDatabase}.sharded`, key: { _id: 'hashed' } });
  await database.collection<{ _id: number }>('sharded').insertMany(documents);
  for (const find of ['mismatches', 'sharded']) {
    const batchOf = async (more: Document): Promise<[number, unknown]> => {
      const { cursor } = (await database.command({ find, singleBatch: true, ...more }, { promoteLongs: true })) as {
        cursor: { firstBatch: unknown[]; id: unknown };
      };
      return [cursor.firstBatch.length, cursor.id];
    };
    for (const more of [{}, { limit: 250 }, { sort: { _id: 1 } }, { sort: { _id: 1 }, limit: 250 }])
      expect([find, more, await batchOf(more)]).toEqual([find, more, [101, expect.anything()]]);
    expect((await batchOf({ batchSize: 250 }))[0]).toBe(250);
  }

  const metadata = new Metadata(cluster.router, (_what, operation) => operation());
  expect(await metadata.findSome('mismatches', {}, 250, signal)).toHaveLength(250);
  expect(await metadata.findSome('mismatches', {}, 1_000, signal)).toHaveLength(stored);
  expect(await metadata.findNames('mismatches', {}, signal)).toHaveLength(stored);
  expect(await metadata.find('mismatches', {}, signal)).toHaveLength(stored);
});
