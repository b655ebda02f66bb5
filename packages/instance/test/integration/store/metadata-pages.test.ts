import { Closers } from '@convoy/testbed/closers';
import { startTestCluster } from '@convoy/testbed/cluster/start-test-cluster';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { type Document, MongoClient } from 'mongodb';
import { expect, test } from 'vitest';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { Metadata, metadataDatabase } from '../../../src/store/metadata.js';

/** More than servers put into a first batch for which no size is given. */
const stored = 299;

test('documents of the state are found up to the number asked for; a find without a batch size ends after 101', async () => {
  const signal = AbortSignal.timeout(120_000);
  await using stack = new Closers();
  const servers = stack.use(await startTestCluster({ name: 'pages', topology: { shards: 2 }, isHere: true, folder: stack.use(ScratchFolder.create('pages')) }));
  const client = new MongoClient(servers.connectionString);
  stack.defer(() => client.close());
  const cluster = await openCluster('cluster1', servers.connectionString, { direct: false, signal });
  stack.defer(() => cluster.close());
  const database = client.db(metadataDatabase);
  const documents = Array.from({ length: stored }, (_, _id) => ({ _id, k: _id - 100, copy: 'c', share: 's' }));
  await database.collection<{ _id: number }>('mismatches').insertMany(documents, { writeConcern: { w: 'majority' } });

  const admin = client.db('admin');
  await admin.command({ enableSharding: metadataDatabase });
  await admin.command({ shardCollection: `${metadataDatabase}.sharded`, key: { _id: 'hashed' } });
  await database.collection<{ _id: number }>('sharded').insertMany(documents);
  for (const find of ['mismatches', 'sharded']) {
    const batchOf = async (more: Document): Promise<[number, unknown]> => {
      const { cursor } = (await database.command({ find, singleBatch: true, ...more }, { promoteLongs: true })) as { cursor: { firstBatch: unknown[]; id: unknown } };
      return [cursor.firstBatch.length, cursor.id];
    };
    for (const more of [{}, { limit: 250 }, { sort: { _id: 1 } }, { sort: { _id: 1 }, limit: 250 }]) expect([find, more, await batchOf(more)]).toEqual([find, more, [101, expect.anything()]]);
    expect((await batchOf({ batchSize: 250 }))[0]).toBe(250);
  }

  const metadata = new Metadata(cluster.router, (_what, operation) => operation());
  expect(await metadata.findSome('mismatches', {}, 250, signal)).toHaveLength(250);
  expect(await metadata.findSome('mismatches', {}, 1_000, signal)).toHaveLength(stored);
  expect(await metadata.findNames('mismatches', {}, signal)).toHaveLength(stored);
  expect(await metadata.find('mismatches', {}, signal)).toHaveLength(stored);
});
