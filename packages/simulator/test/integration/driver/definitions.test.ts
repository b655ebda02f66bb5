import { randomBytes } from 'node:crypto';
import { GridFSBucket, type MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DrivenCluster } from './driven-cluster.js';

describe('databases, collections and indexes with the official driver', () => {
  let driven: DrivenCluster;
  let client: MongoClient;

  beforeAll(async () => {
    driven = await DrivenCluster.start();
    client = await driven.connect();
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  it('lists databases and collections, also by name and filter', async () => {
    const db = client.db('definitions');
    await db.createCollection('a');
    await db.createCollection('b', { viewOn: 'a', pipeline: [] });
    expect(
      (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name, type }) => [name, type]).sort(),
    ).toEqual([
      ['a', 'collection'],
      ['b', 'view'],
      ['system.views', 'collection'],
    ]);
    expect(await db.listCollections({ type: 'view' }).toArray()).toMatchObject([
      { name: 'b', options: { viewOn: 'a' }, info: { readOnly: true } },
    ]);
    expect((await db.collections()).map(({ collectionName }) => collectionName).sort()).toContain('a');
    const { databases } = await db.admin().listDatabases({ nameOnly: true });
    expect(databases.map(({ name }) => name)).toEqual(expect.arrayContaining(['admin', 'config', 'definitions']));
    await expect(db.createCollection('a', { capped: true, size: 4096 })).rejects.toMatchObject({ code: 48 });
  });

  it('makes, lists, hides and drops indexes', async () => {
    const collection = client.db('definitions_indexes').collection('c');
    expect(
      await collection.createIndexes([
        { key: { a: 1 } },
        { key: { b: -1 }, unique: true, sparse: true },
        { key: { at: 1 }, expireAfterSeconds: 60 },
      ]),
    ).toEqual(['a_1', 'b_-1', 'at_1']);
    expect(await collection.createIndex({ a: 1 }, {}, {})).toBe('a_1');
    await expect(collection.createIndex({ a: 1 }, { unique: true }, {})).rejects.toMatchObject({
      codeName: 'IndexKeySpecsConflict',
    });
    expect(await collection.indexExists(['a_1', 'b_-1'])).toBe(true);
    await collection.insertOne({ b: 1 });
    await expect(collection.insertOne({ b: 1 })).rejects.toMatchObject({
      code: 11000,
      keyPattern: { b: -1 },
      keyValue: { b: 1 },
    });
    await client.db('definitions_indexes').command({ collMod: 'c', index: { name: 'a_1', hidden: true } });
    expect((await collection.listIndexes().toArray()).find(({ name }) => name === 'a_1')).toMatchObject({
      hidden: true,
    });
    await collection.dropIndex('a_1');
    await collection.dropIndexes();
    expect((await collection.indexes()).map(({ name }) => name)).toEqual(['_id_']);
    await expect(collection.dropIndex('none')).rejects.toMatchObject({ codeName: 'IndexNotFound' });
  });

  it('keeps documents to a validator', async () => {
    const collection = await client
      .db('definitions_validator')
      .createCollection('c', { validator: { n: { $type: 'int' } }, validationAction: 'error' });
    await collection.insertOne({ n: 1 });
    await expect(collection.insertOne({ n: 'one' })).rejects.toMatchObject({ code: 121 });
    await collection.insertOne({ n: 'one' }, { bypassDocumentValidation: true });
  });

  it('stores files in chunks and gives them back', async () => {
    const bucket = new GridFSBucket(client.db('definitions_files'), { chunkSizeBytes: 1024 });
    const content = randomBytes(10_000);
    const upload = bucket.openUploadStream('file.bin', { metadata: { kind: 'random' } });
    await new Promise<void>((resolve, reject) => upload.once('error', reject).end(content, () => resolve()));
    const chunks: Buffer[] = [];
    for await (const chunk of bucket.openDownloadStream(upload.id) as AsyncIterable<Buffer>) chunks.push(chunk);
    expect(Buffer.concat(chunks).equals(content)).toBe(true);
    const part: Buffer[] = [];
    for await (const chunk of bucket.openDownloadStreamByName('file.bin', {
      start: 1000,
      end: 3000,
    }) as AsyncIterable<Buffer>)
      part.push(chunk);
    expect(Buffer.concat(part).equals(content.subarray(1000, 3000))).toBe(true);
    expect(await client.db('definitions_files').collection('fs.chunks').countDocuments()).toBe(10);
    await bucket.rename(upload.id, 'renamed.bin');
    expect(await bucket.find({ filename: 'renamed.bin' }).toArray()).toMatchObject([
      { length: 10_000, metadata: { kind: 'random' } },
    ]);
    await bucket.delete(upload.id);
    expect(await client.db('definitions_files').collection('fs.chunks').countDocuments()).toBe(0);
  });

  it('lists a time-series collection by its type, and stores measurements there', async () => {
    const db = client.db('definitions_series');
    await db.createCollection('weather', {
      timeseries: { timeField: 'at', metaField: 'place', granularity: 'minutes' },
    });
    expect((await db.listCollections({ name: 'weather' }).toArray())[0]).toMatchObject({ type: 'timeseries' });
    const at = new Date(1_700_000_000_000);
    await db.collection('weather').insertMany([{ at, place: 'a', rain: 1 }]);
    expect(await db.collection('weather').findOne({}, { projection: { _id: 0 } })).toEqual({ at, place: 'a', rain: 1 });
  });

  it('renames and drops', async () => {
    const db = client.db('definitions_drop');
    await db.collection('a').insertOne({});
    await db.collection('b').insertOne({});
    await expect(db.renameCollection('a', 'b')).rejects.toThrow(/exists/);
    await db.renameCollection('a', 'b', { dropTarget: true });
    expect(await db.dropCollection('b')).toBe(true);
    expect(await db.dropDatabase()).toBe(true);
  });
});
