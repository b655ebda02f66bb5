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

  it('writes the results of a pipeline with $out', async () => {
    const collection = await filled(driven, client, 'crud_out');
    const db = client.db('crud_out');
    await collection.aggregate([{ $match: { k: { $gte: 0 } } }, { $out: 'high' }]).toArray();
    expect(await db.collection('high').countDocuments()).toBe(5);
    await expect(collection.aggregate([{ $merge: { into: 'high' } }]).toArray()).rejects.toMatchObject({ code: 115 });
  });
});
