import { BSON, MaxKey, MinKey } from 'mongodb';
import { expect, test } from 'vitest';
import { encodeValue, minKey } from '../../../src/bson/scan.js';
import { highestTime, operationTimes, timestampOf } from '../../../src/cluster/cluster-time.js';
import type { RawCursor } from '../../../src/cluster/node-client.js';
import { openSnapshotCursor } from '../../../src/cluster/range-read.js';
import { OrderedDocuments } from '../../../src/verify/compare/ordered-documents.js';
import { openTestCluster } from '../catalog/clusters.js';

const idsOf = (documents: readonly Uint8Array[]): unknown[] =>
  documents.map((bytes) => (BSON.deserialize(bytes) as { _id: unknown })._id);

async function readAll(cursor: RawCursor, signal: AbortSignal): Promise<unknown[]> {
  const ids = idsOf(cursor.first.documents);
  while (cursor.open) ids.push(...idsOf((await cursor.next({ signal })).documents));
  return ids;
}

test('a range is read to its last _id, MaxKey included', async () => {
  const signal = AbortSignal.timeout(120_000);
  await using opened = await openTestCluster('cluster0', 2);
  const { cluster, client } = opened;
  const ids: unknown[] = [new MinKey(), -1, 1, 2, 'a', true, new MaxKey()];
  const options = { writeConcern: { w: 'majority' } } as const;
  await client
    .db('db')
    .collection<{ _id: unknown }>('plain')
    .insertMany(
      ids.map((_id) => ({ _id })),
      options,
    );
  await client.db('admin').command({ enableSharding: 'db' });
  await client.db('admin').command({ shardCollection: 'db.hashed', key: { _id: 'hashed' } });
  await client
    .db('db')
    .collection<{ _id: unknown }>('hashed')
    .insertMany(
      ids.map((_id) => ({ _id })),
      options,
    );
  const now = highestTime((await operationTimes(cluster, { signal })).values());
  for (const collection of ['plain', 'hashed']) {
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
});
