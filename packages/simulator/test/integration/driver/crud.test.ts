import { MongoBulkWriteError, type MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DrivenCluster } from './driven-cluster.js';
import { filled, type Item } from './items.js';

describe('reading and writing with the official driver', () => {
  let driven: DrivenCluster;
  let client: MongoClient;

  beforeAll(async () => {
    driven = await DrivenCluster.start();
    client = await driven.connect();
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  it('finds one and many, with projection, sort, skip and limit over shards', async () => {
    const collection = await filled(driven, client, 'crud_find');
    expect(await collection.findOne({ _id: 3 })).toEqual({ _id: 3, k: -2 });
    const page = await collection
      .find({}, { projection: { k: 1, _id: 0 } })
      .sort({ k: -1 })
      .skip(2)
      .limit(3)
      .toArray();
    expect(page).toEqual([{ k: 2 }, { k: 1 }, { k: 0 }]);
    expect(await collection.distinct('k', { k: { $gt: 2 } })).toEqual([3, 4]);
    expect(await collection.countDocuments({ k: { $lt: 0 } })).toBe(5);
    expect(await collection.estimatedDocumentCount()).toBe(10);
  });

  it('updates, replaces, upserts, deletes', async () => {
    const collection = await filled(driven, client, 'crud_write');
    expect(await collection.updateMany({}, { $set: { v: 1 } })).toMatchObject({ matchedCount: 10, modifiedCount: 10 });
    expect(await collection.replaceOne({ k: 1 }, { k: 1, v: 'new' })).toMatchObject({ modifiedCount: 1 });
    expect(
      await collection.updateOne({ _id: 100, k: 100 }, { $setOnInsert: { v: 7 } }, { upsert: true }),
    ).toMatchObject({ upsertedCount: 1, upsertedId: 100 });
    expect(
      await collection.findOneAndUpdate({ k: 1 }, [{ $set: { v: { $concat: ['$v', '!'] } } }], {
        returnDocument: 'after',
      }),
    ).toEqual({ _id: 6, k: 1, v: 'new!' });
    expect(await collection.findOneAndReplace({ k: -1 }, { k: -1, v: 2 })).toEqual({ _id: 4, k: -1, v: 1 });
    expect(await collection.findOneAndDelete({ k: 100 }, { includeResultMetadata: true })).toMatchObject({
      value: { _id: 100 },
      ok: 1,
    });
    expect(await collection.deleteMany({ k: { $gte: 0 } })).toMatchObject({ deletedCount: 5 });
  });

  it('stops an ordered bulk at its first error and goes through an unordered one', async () => {
    const collection = await filled(driven, client, 'crud_bulk');
    const operations = [
      { insertOne: { document: { _id: 50, k: -50 } } },
      { insertOne: { document: { _id: 0, k: -5 } } },
      { updateOne: { filter: { k: 4 }, update: { $set: { v: 1 } } } },
      { updateOne: { filter: { k: 3 }, update: { $badOperator: { v: 1 } } as never } },
      { deleteOne: { filter: { k: 2 } } },
    ];
    const ordered = await collection
      .bulkWrite(operations, { ordered: true })
      .catch((error: unknown) => error as MongoBulkWriteError);
    expect(ordered).toBeInstanceOf(MongoBulkWriteError);
    expect(ordered).toMatchObject({ code: 11000, result: { insertedCount: 1, modifiedCount: 0, deletedCount: 0 } });
    const unordered = await collection
      .bulkWrite(operations, { ordered: false })
      .catch((error: unknown) => error as MongoBulkWriteError);
    expect(unordered).toMatchObject({ result: { insertedCount: 0, modifiedCount: 1, deletedCount: 1 } });
    expect((unordered as MongoBulkWriteError).writeErrors).toMatchObject([
      { index: 0, code: 11000 },
      { index: 1, code: 11000 },
      { index: 3, code: 9 },
    ]);
  });

  it('reads a cursor batch by batch, rewinds it and kills it', async () => {
    const collection = await filled(driven, client, 'crud_cursor', 100);
    const cursor = collection.find({}, { batchSize: 9 }).sort({ k: 1 });
    expect((await cursor.next())?.k).toBe(-50);
    expect(cursor.bufferedCount()).toBe(8);
    const { id } = cursor;
    await cursor.close();
    await expect(client.db('crud_cursor').command({ getMore: id, collection: 'c' })).rejects.toMatchObject({
      code: 43,
    });
    cursor.rewind();
    expect((await cursor.toArray()).map(({ k }) => k)).toEqual(Array.from({ length: 100 }, (_, index) => index - 50));
    const streamed: number[] = [];
    for await (const { k } of collection.find({ k: { $gte: 0 } }, { batchSize: 2 }).stream() as AsyncIterable<Item>)
      streamed.push(k);
    expect(streamed).toHaveLength(50);
  });

  it('compares by a collation', async () => {
    const collection = client.db('crud_collation').collection<{ _id: string }>('c');
    await collection.insertMany(['b', 'A', 'a', 'B'].map((_id) => ({ _id })));
    expect(await collection.find({ _id: 'a' }).collation({ locale: 'en', strength: 2 }).toArray()).toHaveLength(2);
    expect(
      (await collection.find().sort({ _id: 1 }).collation({ locale: 'en', strength: 2 }).toArray()).map(({ _id }) =>
        _id.toLowerCase(),
      ),
    ).toEqual(['a', 'a', 'b', 'b']);
    const folded = await client
      .db('crud_collation')
      .createCollection<{ name: string }>('folded', { collation: { locale: 'en', strength: 2 } });
    await folded.createIndex({ name: 1 }, { unique: true }, {});
    await folded.insertOne({ name: 'x' });
    await expect(folded.insertOne({ name: 'X' })).rejects.toMatchObject({ code: 11000 });
  });
});
