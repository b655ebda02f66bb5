import type { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DrivenCluster } from './driven-cluster.js';
import { filled } from './items.js';

describe('cursors and pipelines of the official driver', () => {
  let driven: DrivenCluster;
  let client: MongoClient;

  beforeAll(async () => {
    driven = await DrivenCluster.start();
    client = await driven.connect();
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  it('follows a capped collection with a tailable cursor that waits', async () => {
    const db = client.db('crud_tail');
    const log = await db.createCollection<{ n: number }>('log', { capped: true, size: 4096, max: 3 });
    await log.insertMany([1, 2, 3, 4].map((n) => ({ n })));
    const cursor = log.find({}, { tailable: true, awaitData: true, maxAwaitTimeMS: 5_000, projection: { _id: 0 } });
    expect([await cursor.next(), await cursor.next(), await cursor.next()]).toEqual([{ n: 2 }, { n: 3 }, { n: 4 }]);
    const next = cursor.next();
    await log.insertOne({ n: 5 });
    expect(await next).toEqual({ n: 5 });
    await cursor.close();
  });

  it('writes the results of a pipeline with $out', async () => {
    const collection = await filled(driven, client, 'crud_out');
    const db = client.db('crud_out');
    await collection.aggregate([{ $match: { k: { $gte: 0 } } }, { $out: 'high' }]).toArray();
    expect(await db.collection('high').countDocuments()).toBe(5);
    await expect(collection.aggregate([{ $merge: { into: 'high' } }]).toArray()).rejects.toMatchObject({ code: 115 });
  });
});
