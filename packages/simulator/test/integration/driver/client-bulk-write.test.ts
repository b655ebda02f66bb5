import { type ClientBulkWriteModel, MongoClientBulkWriteError, type MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DrivenCluster } from './driven-cluster.js';

interface Stored {
  _id: number;
  k?: number;
  v?: number;
}

describe('bulk writes over several collections (8.0)', () => {
  let driven: DrivenCluster;
  let client: MongoClient;

  beforeAll(async () => {
    driven = await DrivenCluster.start({ version: '8.0' });
    client = await driven.connect();
    await driven.shard(client, 'wide', 'sharded');
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  it('writes them in order and reports each result', async () => {
    const result = await client.bulkWrite<Record<string, Stored>>(
      [
        { name: 'insertOne', namespace: 'wide.sharded', document: { _id: 1, k: -1 } },
        { name: 'insertOne', namespace: 'wide.plain', document: { _id: 1 } },
        { name: 'updateOne', namespace: 'wide.sharded', filter: { k: 5 }, update: { $set: { v: 1 } }, upsert: true },
        { name: 'updateMany', namespace: 'wide.plain', filter: {}, update: { $set: { v: 2 } } },
        { name: 'deleteOne', namespace: 'wide.sharded', filter: { k: -1 } },
      ],
      { verboseResults: true },
    );
    expect(result).toMatchObject({ insertedCount: 2, upsertedCount: 1, modifiedCount: 1, deletedCount: 1 });
    expect(result.insertResults?.get(1)).toEqual({ insertedId: 1 });
    expect(await client.db('wide').collection('plain').find().toArray()).toEqual([{ _id: 1, v: 2 }]);
    expect(
      await client
        .db('wide')
        .collection('sharded')
        .find({}, { projection: { _id: 0 } })
        .toArray(),
    ).toEqual([{ k: 5, v: 1 }]);
  });

  it('stops at the first error when ordered, and continues otherwise', async () => {
    const models = [1, 1, 2].map((_id): ClientBulkWriteModel<Record<string, Stored>> => ({
      name: 'insertOne',
      namespace: 'wide.errors',
      document: { _id },
    }));
    const ordered = await client
      .bulkWrite<Record<string, Stored>>(models)
      .catch((error: unknown) => error as MongoClientBulkWriteError);
    expect(ordered).toMatchObject({ partialResult: { insertedCount: 1 } });
    expect([...(ordered as MongoClientBulkWriteError).writeErrors.keys()]).toEqual([1]);
    const unordered = await client
      .bulkWrite<Record<string, Stored>>(models, { ordered: false })
      .catch((error: unknown) => error as MongoClientBulkWriteError);
    expect([...(unordered as MongoClientBulkWriteError).writeErrors.keys()]).toEqual([0, 1]);
    expect(await client.db('wide').collection('errors').countDocuments()).toBe(2);
  });
});
