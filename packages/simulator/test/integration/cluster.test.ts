import { type Document, Long, MaxKey, MinKey, MongoClient, ObjectId, type Timestamp } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import { startCluster as startSimulated } from '../../src/simulator.js';

describe('a sharded cluster and the official driver', () => {
  let cluster: Cluster;
  let client: MongoClient;
  const direct: MongoClient[] = [];

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 2, noopIntervalMs: 50 });
    client = await MongoClient.connect(cluster.connectionString);
    for (const host of cluster.shards)
      direct.push(await MongoClient.connect(`mongodb://${host}/?directConnection=true`));
  });

  afterAll(async () => {
    await Promise.all([client, ...direct].map((each) => each.close()));
    await cluster.close();
  });

  /** A collection of its own for each test, with chunks below and above key, or hash, 0 on the two shards. */
  async function sharded(name: string, key: Document = { k: 1 }): Promise<{ db: string; coll: string }> {
    const db = `db_${name}`;
    const admin = client.db('admin');
    await admin.command({ enableSharding: db, primaryShard: 'shard0' });
    for (const [zone, shard] of [
      ['low', 'shard0'],
      ['high', 'shard1'],
    ])
      await admin.command({ addShardToZone: shard, zone });
    const [field] = Object.keys(key) as [string];
    const middle = key[field] === 'hashed' ? Long.ZERO : 0;
    await admin.command({
      updateZoneKeyRange: `${db}.c`,
      min: { [field]: new MinKey() },
      max: { [field]: middle },
      zone: 'low',
    });
    await admin.command({
      updateZoneKeyRange: `${db}.c`,
      min: { [field]: middle },
      max: { [field]: new MaxKey() },
      zone: 'high',
    });
    await admin.command({ shardCollection: `${db}.c`, key });
    return { db, coll: 'c' };
  }

  it('lists its shards and says what it is', async () => {
    const hello = await client.db('admin').command({ hello: 1 });
    expect(hello['msg']).toBe('isdbgrid');
    const { shards } = await client.db('admin').command({ listShards: 1 });
    expect((shards as Document[]).map((shard) => shard['_id'] as string)).toEqual(['shard0', 'shard1']);
    await expect(client.db('admin').command({ noSuchThing: 1 })).rejects.toMatchObject({ code: 59 });
  });

  it('places chunks by zones and documents by chunks', async () => {
    const { db, coll } = await sharded('zones');
    const collection = client.db(db).collection<{ _id: number; k: number }>(coll);
    const documents = Array.from({ length: 200 }, (_, index) => ({ _id: index, k: index - 100 }));
    await collection.insertMany(documents, { ordered: false });
    const counts = await Promise.all(direct.map((shard) => shard.db(db).collection(coll).countDocuments()));
    expect(counts).toEqual([100, 100]);
    expect(await collection.countDocuments()).toBe(200);
    const chunks = await client.db('config').collection('chunks').find({}).toArray();
    expect(new Set(chunks.map((chunk) => chunk['shard'] as string))).toEqual(new Set(['shard0', 'shard1']));
    const sorted = await collection.find({}, { sort: { k: -1 }, batchSize: 7, projection: { k: 1 } }).toArray();
    expect(sorted.map((document) => document.k)).toEqual(documents.map((document) => document.k).reverse());
  });

  it('keeps a key of MaxKey alone in the last chunk', async () => {
    const { db, coll } = await sharded('maxkey');
    const collection = client.db(db).collection<{ _id: number; k: unknown }>(coll);
    await collection.insertOne({ _id: 1, k: new MaxKey() });
    await collection.insertOne({ _id: 2, k: 1 });
    expect(await collection.find({ k: new MaxKey() }).toArray()).toEqual([{ _id: 1, k: new MaxKey() }]);
    expect(await direct[1]?.db(db).collection(coll).countDocuments()).toBe(2);
    const hashed = await sharded('maxkey_hashed', { _id: 'hashed' });
    await client.db(hashed.db).collection<{ _id: unknown }>(hashed.coll).insertOne({ _id: new MaxKey() });
  });

  it('writes in bulk, in order and without', async () => {
    const { db, coll } = await sharded('bulk');
    const collection = client.db(db).collection<{ _id: number; k: number; v?: number }>(coll);
    const result = await collection.bulkWrite(
      [
        { insertOne: { document: { _id: 1, k: -1 } } },
        { insertOne: { document: { _id: 2, k: 1 } } },
        { updateOne: { filter: { _id: 1, k: -1 }, update: { $set: { v: 1 } } } },
        { replaceOne: { filter: { _id: 3, k: 3 }, replacement: { k: 3, v: 3 }, upsert: true } },
        { deleteOne: { filter: { _id: 2, k: 1 } } },
      ],
      { ordered: true },
    );
    expect(result).toMatchObject({ insertedCount: 2, modifiedCount: 1, upsertedCount: 1, deletedCount: 1 });
    const failed = collection.insertMany(
      [
        { _id: 1, k: -1 },
        { _id: 9, k: 9 },
        { _id: 3, k: 3 },
      ],
      { ordered: false },
    );
    await expect(failed).rejects.toMatchObject({ code: 11000, writeErrors: [{ index: 0 }, { index: 2 }] });
    expect(await collection.find({}, { sort: { _id: 1 } }).toArray()).toEqual([
      { _id: 1, k: -1, v: 1 },
      { _id: 3, k: 3, v: 3 },
      { _id: 9, k: 9 },
    ]);
    await collection.updateMany({ k: { $gte: 3 } }, { $inc: { v: 1 } });
    expect((await collection.findOneAndDelete({ _id: 9, k: 9 }))?.v).toBe(1);
  });

  it('shows changes in order through the router, and each shard its own', async () => {
    const { db, coll } = await sharded('stream');
    const collection = client.db(db).collection<{ _id: number; k: number; v?: number }>(coll);
    const stream = client.watch([], { maxAwaitTimeMS: 200 });
    const own = direct.map((shard) => shard.watch([], { maxAwaitTimeMS: 200 }));
    await Promise.all([stream, ...own].map((each) => each.tryNext()));
    await collection.insertMany([
      { _id: 1, k: -1 },
      { _id: 2, k: 1 },
    ]);
    await collection.updateOne({ k: 1, _id: 2 }, { $set: { v: 2 } });
    await collection.deleteOne({ k: -1, _id: 1 });
    const events: Document[] = [];
    while (events.length < 4) events.push(await stream.next());
    expect(events.map((event) => [event['operationType'] as string, event['documentKey'] as Document])).toEqual([
      ['insert', { k: -1, _id: 1 }],
      ['insert', { k: 1, _id: 2 }],
      ['update', { k: 1, _id: 2 }],
      ['delete', { k: -1, _id: 1 }],
    ]);
    const first = (await own[0]?.next()) as Document;
    expect(first['documentKey']).toEqual({ k: -1, _id: 1 });
    await Promise.all([stream, ...own].map((each) => each.close()));
  });

  it('reads at a cluster time, on shards and through the router', async () => {
    const { db, coll } = await sharded('snapshot');
    const collection = client.db(db).collection<{ _id: number; k: number }>(coll);
    await collection.insertMany(Array.from({ length: 20 }, (_, index) => ({ _id: index, k: index - 10 })));
    const { operationTime } = (await client.db(db).command({ ping: 1 })) as { operationTime: Timestamp };
    await collection.deleteMany({});
    const readConcern = { level: 'snapshot', atClusterTime: operationTime };
    const reply = await client.db(db).command({ find: coll, readConcern });
    expect((reply['cursor'] as { firstBatch: Document[] }).firstBatch).toHaveLength(20);
    const shard = await direct[0]?.db(db).command({ find: coll, readConcern });
    expect((shard?.['cursor'] as { firstBatch: Document[] }).firstBatch).toHaveLength(10);
  });

  it('executes a retryable write once', async () => {
    const { db, coll } = await sharded('retry');
    const collection = client.db(db).collection<{ _id: number; k: number; v: number }>(coll);
    await collection.insertMany([
      { _id: 1, k: -1, v: 0 },
      { _id: 2, k: 1, v: 0 },
    ]);
    await using other = await MongoClient.connect(cluster.connectionString);
    const session = other.startSession();
    const updates = [-1, 1].map((k) => ({ q: { k }, u: { $inc: { v: 1 } } }));
    for (let sent = 0; sent < 2; sent += 1) {
      const reply = await other
        .db(db)
        .command({ update: coll, updates, ordered: false, txnNumber: Long.fromInt(7) }, { session });
      expect(reply).toMatchObject({ n: 2, nModified: 2 });
    }
    await session.endSession();
    expect((await collection.find().toArray()).map((document) => document.v)).toEqual([1, 1]);
  });

  it('moves chunks without showing it, and answers for the balancer', async () => {
    const { db, coll } = await sharded('move');
    const admin = client.db('admin');
    const collection = client.db(db).collection<{ _id: ObjectId; k: number }>(coll);
    await collection.insertMany([1, 2, 3].map((k) => ({ _id: new ObjectId(), k })));
    await admin.command({ balancerStop: 1 });
    expect(await admin.command({ balancerStatus: 1 })).toMatchObject({ mode: 'off', inBalancerRound: false });
    const stream = client.watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    await admin.command({ moveChunk: `${db}.${coll}`, find: { k: 1 }, to: 'shard0', _waitForDelete: true });
    expect(await stream.tryNext()).toBeNull();
    await stream.close();
    expect(await direct[1]?.db(db).collection(coll).countDocuments()).toBe(0);
    expect(await collection.countDocuments()).toBe(3);
  });

  it('runs transactions over shards', async () => {
    const { db, coll } = await sharded('transaction');
    const collection = client.db(db).collection<{ _id: number; k: number }>(coll);
    const session = client.startSession();
    await session.withTransaction(async () => {
      await collection.insertOne({ _id: 1, k: -1 }, { session });
      await collection.insertOne({ _id: 2, k: 1 }, { session });
      expect(await collection.countDocuments({}, { session })).toBe(2);
      expect(await direct[0]?.db(db).collection(coll).countDocuments()).toBe(0);
    });
    await session.endSession();
    expect(await collection.countDocuments()).toBe(2);
  });

  it('drops, renames and lists', async () => {
    const { db, coll } = await sharded('definitions', { k: 'hashed' });
    await client
      .db(db)
      .collection(coll)
      .insertMany(Array.from({ length: 10 }, (_, k) => ({ k })));
    await client.db(db).collection(coll).createIndex({ a: 1 }, { name: 'a' }, {});
    expect((await client.db(db).collection(coll).indexes()).map((index) => index.name)).toEqual([
      '_id_',
      'k_hashed',
      'a',
    ]);
    await client.db(db).renameCollection(coll, 'renamed');
    const toItself = { renameCollection: `${db}.renamed`, to: `${db}.renamed`, dropTarget: true };
    await expect(client.db('admin').command(toItself)).rejects.toMatchObject({ code: 20 });
    expect(await client.db(db).collection('renamed').countDocuments()).toBe(10);
    expect((await client.db(db).listCollections().toArray()).map((each) => each.name)).toEqual(['renamed']);
    await client.db(db).dropDatabase();
    const { databases } = await client.db('admin').admin().listDatabases();
    expect(databases.map((each) => each.name)).not.toContain(db);
  });
});

it('a cluster of 5.0 has no shard for a key of MaxKey alone', async () => {
  await using cluster = await startSimulated({ shards: 2, version: '5.0' });
  await using client = await MongoClient.connect(cluster.connectionString);
  await client.db('admin').command({ enableSharding: 'db' });
  await client.db('admin').command({ shardCollection: 'db.c', key: { k: 1 } });
  const collection = client.db('db').collection<{ _id: unknown; k?: unknown }>('c');
  await expect(collection.insertOne({ _id: 1, k: new MaxKey() })).rejects.toMatchObject({
    code: 61,
    message: 'Cannot target single shard using key { k: MaxKey } for namespace db.c',
  });
  await collection.insertOne({ _id: 2, k: 1 });
  expect(await collection.find({ k: new MaxKey() }).toArray()).toEqual([]);
  await client.db('admin').command({ shardCollection: 'db.hashed', key: { _id: 'hashed' } });
  await client.db('db').collection<{ _id: unknown }>('hashed').insertOne({ _id: new MaxKey() });
});
