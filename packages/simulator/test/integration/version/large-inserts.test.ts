import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';

it.each([
  ['5.0', null],
  ['6.0', 10_334],
  ['8.0', 10_334],
] as const)('on %s a document that is too large together with its key is answered %j', async (version, code) => {
  const cluster = await startWholeCluster({ shards: 2, version });
  const client = await MongoClient.connect(cluster.connectionString);
  const collection = client.db('app').collection<{ _id: string; text?: string }>('c');
  const text = 'x'.repeat(16 * 2 ** 20 - 100_200);
  const inserted = async (_id: string): Promise<unknown> =>
    collection.insertOne({ _id, text }).then(
      () => null,
      (error: unknown) => (error as { code: unknown }).code,
    );
  expect(await inserted('short')).toBeNull();
  expect(await inserted('a'.repeat(100_000))).toBe(code);
  // An update's entry holds what it changes.
  await collection.insertOne({ _id: 'b'.repeat(100_000) });
  expect(await collection.updateOne({ _id: 'b'.repeat(100_000) }, { $set: { text } })).toMatchObject({
    modifiedCount: 1,
  });
  await client.close();
  await cluster.close();
});
