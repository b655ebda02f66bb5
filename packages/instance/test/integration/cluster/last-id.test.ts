import { BSON, type Db, type Document, MaxKey, MinKey } from 'mongodb';
import { expect, test } from 'vitest';
import { encodeValue, minKey } from '../../../src/bson/scan.js';
import { highestTime, operationTimes, timestampOf } from '../../../src/cluster/cluster-time.js';
import type { RawCursor } from '../../../src/cluster/node-client.js';
import { openSnapshotCursor } from '../../../src/cluster/range-read.js';
import { OrderedDocuments } from '../../../src/verify/compare/ordered-documents.js';
import { openTestCluster, type TestCluster } from '../catalog/clusters.js';

const idsIn = (documents: readonly { _id: unknown }[]): unknown[] => documents.map(({ _id }) => _id);
const idsOf = (documents: readonly Uint8Array[]): unknown[] =>
  idsIn(documents.map((bytes) => BSON.deserialize(bytes) as { _id: unknown }));

async function readAll(cursor: RawCursor, signal: AbortSignal): Promise<unknown[]> {
  const ids = idsOf(cursor.first.documents);
  while (cursor.open) ids.push(...idsOf((await cursor.next({ signal })).documents));
  return ids;
}

const ids: unknown[] = [new MinKey(), -1, 1, 2, 'a', true, new MaxKey()];
const documents = ids.map((_id) => ({ _id }));
const durably = { writeConcern: { w: 'majority' } } as const;

/** Reads collections from several places on: at a time, and now. */
async function expectRanges({ cluster }: TestCluster, collections: readonly string[], signal: AbortSignal) {
  const now = highestTime((await operationTimes(cluster, { signal })).values());
  for (const collection of collections) {
    for (const [from, expected] of [
      [minKey, ids],
      [encodeValue(2), ids.slice(3)],
      [encodeValue(new MaxKey()), ids.slice(-1)],
    ] as const) {
      const snapshot = await openSnapshotCursor(cluster.router, {
        database: 'db',
        target: { find: collection },
        min: from,
        at: timestampOf(now),
        batchSize: 2,
        signal,
      });
      expect(await readAll(snapshot, signal)).toEqual(expected);
      const read = { database: 'db', collection, lower: from, upper: null, after: now, documentBytes: 0 };
      const ordered = new OrderedDocuments(cluster.router, read, (_what, operation) => operation(), signal);
      const found: unknown[] = [];
      await ordered.fill();
      while (ordered.current !== undefined) {
        found.push(...idsOf([ordered.current]));
        ordered.at += 1;
        await ordered.fill();
      }
      await ordered.close();
      expect(found).toEqual(expected);
    }
  }
}

test('a range is read to its last _id, MaxKey included', async () => {
  const signal = AbortSignal.timeout(120_000);
  await using opened = await openTestCluster('cluster0', 2);
  const { client } = opened;
  await client.db('db').collection<{ _id: unknown }>('plain').insertMany(documents, durably);
  await client.db('admin').command({ enableSharding: 'db' });
  await client.db('admin').command({ shardCollection: 'db.hashed', key: { _id: 'hashed' } });
  await client.db('db').collection<{ _id: unknown }>('hashed').insertMany(documents, durably);
  await expectRanges(opened, ['plain', 'hashed'], signal);
});

/** Reads a collection of two shards by their ranged key `_id`, which holds MaxKey, and others that are not sharded. */
async function expectRanged(options: Document, unsharded: readonly string[], expectMore: (db: Db) => Promise<void>) {
  const signal = AbortSignal.timeout(120_000);
  await using opened = await openTestCluster('cluster0', 2, { release: '8.0' });
  const [db, admin] = [opened.client.db('db'), opened.client.db('admin')];
  await admin.command({ enableSharding: 'db', primaryShard: 'shard0' });
  await db.createCollection('spread', options);
  await admin.command({ shardCollection: 'db.spread', key: { _id: 1 } });
  await admin.command({ split: 'db.spread', middle: { _id: 1 } });
  // Servers do not move a document under MaxKey with its chunk.
  await admin.command({ moveChunk: 'db.spread', find: { _id: 1 }, to: 'shard1' });
  for (const name of unsharded) await db.createCollection(name, options);
  for (const name of ['spread', ...unsharded])
    await db.collection<{ _id: unknown }>(name).insertMany(documents, durably);
  await expectMore(db);
  await expectRanges(opened, ['spread', ...unsharded], signal);
}

/** The `_id`s that a find returns in its first batch. */
async function idsFound(db: Db, command: Document): Promise<unknown[]> {
  const { cursor } = await db.command(command);
  return idsIn((cursor as { firstBatch: { _id: unknown }[] }).firstBatch);
}

test('and where _id is the ranged shard key, of which routers find nothing from MaxKey on (8.0)', async () => {
  await expectRanged({}, [], async (db) => {
    expect(await idsFound(db, { find: 'spread', filter: { _id: { $gte: new MaxKey() } } })).toEqual([]);
  });
});

test('of clustered collections, which show MaxKey from a lower bound on, each document is read once', async () => {
  const clusteredIndex = { key: { _id: 1 }, unique: true };
  await expectRanged({ clusteredIndex }, ['clustered'], async (db) => {
    const from = { find: 'clustered', hint: { _id: 1 }, min: { _id: 2 }, sort: { _id: 1 } };
    expect(await idsFound(db, from)).toEqual(ids.slice(3));
  });
});
