import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { DocumentBuilder } from '../../../src/bson/build.js';
import { openCluster } from '../../../src/cluster/open-cluster.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { areReal } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from './equal-databases.js';

const inserted_ms = 60_000;

/** `{_id, a: 1, a: 2, b: 0}`: drivers write no such document, and servers take it. */
function documentOf(_id: number): Uint8Array {
  return new DocumentBuilder().int32('_id', _id).int32('a', 1).int32('a', 2).int32('b', 0).finish();
}

/** Of one document each. Each sets or removes the first `a` that is left. */
const updates: (Document | Document[])[] = [
  { $set: { a: 5 } },
  { $set: { a: 5, b: 6 } },
  { $inc: { a: 4 } },
  { $unset: { a: '' } },
  { $set: { b: 7 }, $unset: { a: '' } },
  { $set: { a: 8, c: 9 } },
  [{ $unset: { a: '' } }, { $unset: { a: '' } }],
];

async function insert({ connectionString }: Side, documents: readonly Uint8Array[]): Promise<void> {
  const signal = AbortSignal.timeout(inserted_ms);
  const cluster = await openCluster('cluster0', connectionString, { direct: false, signal });
  try {
    const orders = { database: 'shop', collection: 'orders', kind: 'insert', ordered: false } as const;
    const outcome = await cluster.router.write({ ...orders, statements: documents }, null, { signal });
    expect(outcome).toMatchObject({ n: documents.length, failures: [] });
  } finally {
    await cluster.close();
  }
}

// Simulated servers keep one field of each name. A member of 5.0.7 ends at a pipeline that changes both.
it.runIf(areReal)('updates of a field that its document repeats arrive as on the source', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  await insert(
    fixture.cluster0,
    updates.map((_, _id) => documentOf(_id)),
  );
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  const orders = fixture.cluster0.client.db('shop').collection<{ _id: number }>('orders');
  for (const [_id, all] of updates.entries())
    await orders.bulkWrite([all].flat().map((update) => ({ updateOne: { filter: { _id }, update } })));
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  await expectEqualDatabases(fixture, 'shop');
});
