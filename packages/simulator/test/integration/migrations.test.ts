import { type Document, Long, MaxKey, MinKey, MongoClient, type Timestamp, UUID } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

describe.each(['8.0', '5.0'] as const)('migrations of chunks in %s', (version) => {
  let cluster: Cluster;
  let client: MongoClient;
  let other: MongoClient;
  let shard0: MongoClient;
  let shard1: MongoClient;

  beforeAll(async () => {
    cluster = await startWholeCluster({ version, shards: 3, routers: 2, noopIntervalMs: 50, balancerRoundMs: 0 });
    const direct = (index: number): Promise<MongoClient> =>
      MongoClient.connect(`mongodb://${cluster.shards[index] ?? ''}/?directConnection=true`);
    [client, other, shard0, shard1] = await Promise.all([
      MongoClient.connect(cluster.connectionString),
      MongoClient.connect(`mongodb://${cluster.routers[1] ?? ''}`, { compressors: ['zlib'] }),
      direct(0),
      direct(1),
    ]);
    await client.db('admin').command({ enableSharding: 'moves', primaryShard: 'shard0' });
  });

  afterAll(async () => {
    await Promise.all([client, other, shard0, shard1].map((each) => each.close()));
    await cluster.close();
  });

  const items = (name: string, from = client) => from.db('moves').collection<Item>(name);

  /** Ten documents with keys from -5 to 4, chunks below and from 0, all on shard0. */
  async function filled(name: string): Promise<void> {
    await client.db('admin').command({ shardCollection: `moves.${name}`, key: { k: 1 } });
    await client.db('admin').command({ split: `moves.${name}`, middle: { k: 0 } });
    await items(name).insertMany(Array.from({ length: 10 }, (_, _id) => ({ _id, k: _id - 5 })));
  }

  const move = (
    name: string,
    k: number,
    to: string,
    options: Document = { _waitForDelete: true },
    through = client,
  ): Promise<Document> => through.db('admin').command({ moveChunk: `moves.${name}`, find: { k }, to, ...options });

  it('leaves orphans while their clean-up is suspended, which writes of many reach, count and show', async () => {
    const orphans = version === '5.0' ? 5 : 0;
    await filled('orphans');
    await shard0.db('admin').command({ configureFailPoint: 'suspendRangeDeletion', mode: 'alwaysOn' });
    await shard0.db('admin').command({ setParameter: 1, orphanCleanupDelaySecs: 0 });
    await move('orphans', 1, 'shard1', {});
    expect(await items('orphans', shard0).find().toArray()).toHaveLength(10);
    expect(await items('orphans').find().toArray()).toHaveLength(10);
    const stream = shard0.db('moves').collection('orphans').watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    expect((await items('orphans').updateMany({ _id: { $gte: 0 } }, { $set: { v: 1 } })).modifiedCount).toBe(
      10 + orphans,
    );
    const seen = new Set<number>();
    while (seen.size < 5 + orphans)
      seen.add(((await stream.next()) as unknown as { documentKey: Item }).documentKey._id);
    await stream.close();
    expect(await items('orphans', shard0).countDocuments({ v: 1 })).toBe(5 + orphans);
    expect(await items('orphans').countDocuments({ v: 1 })).toBe(10);
    await shard0.db('admin').command({ configureFailPoint: 'suspendRangeDeletion', mode: 'off' });
    expect((await items('orphans').updateMany({ k: { $gte: 0 } }, { $set: { v: 2 } })).modifiedCount).toBe(5);
    expect(await items('orphans', shard0).countDocuments({ v: 2 })).toBe(0);
    await shard0.db('admin').command({ cleanupOrphaned: 'moves.orphans' });
    expect(await items('orphans', shard0).find().toArray()).toHaveLength(5);
  });

  it('reads at a time before a chunk moved', async () => {
    await filled('history');
    const { operationTime } = (await client.db('moves').command({ ping: 1 })) as { operationTime: Timestamp };
    await move('history', 1, 'shard1');
    await items('history').deleteMany({});
    const command = { find: 'history', hint: { k: 1 }, min: { k: new MinKey() }, max: { k: new MaxKey() } };
    for (const router of [client, other]) {
      const reply = await router
        .db('moves')
        .command({ ...command, readConcern: { level: 'snapshot', atClusterTime: operationTime } });
      expect((reply['cursor'] as { firstBatch: Item[] }).firstBatch.map((document) => document._id)).toEqual([
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
      ]);
    }
  });

  it('moves a document to the shard of its new key', async () => {
    await filled('moving');
    await move('moving', 1, 'shard1');
    const stream = client.watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    expect((await items('moving').updateOne({ _id: 1, k: -4 }, { $set: { k: 40 } })).modifiedCount).toBe(1);
    expect([(await stream.next())._id, (await stream.next())._id].every((token) => token !== undefined)).toBe(true);
    await stream.close();
    expect(await items('moving', shard0).findOne({ _id: 1 })).toBeNull();
    expect(await items('moving').findOne({ k: 40 })).toEqual({ _id: 1, k: 40 });
  });

  it('answers rightly through a router that has not heard of a move', async () => {
    await filled('stale');
    expect(await items('stale', other).countDocuments()).toBe(10);
    await move('stale', 1, 'shard1');
    expect(await items('stale', other).findOne({ k: 2 })).toEqual({ _id: 7, k: 2 });
    await move('stale', 1, 'shard2');
    expect((await items('stale', other).updateOne({ k: 2 }, { $set: { v: 1 } })).modifiedCount).toBe(1);
    await move('stale', 1, 'shard0');
    await items('stale', other).insertMany([
      { _id: 10, k: 5 },
      { _id: 11, k: -6 },
      { _id: 12, k: 6 },
    ]);
    await move('stale', 1, 'shard1');
    const sorted = await items('stale', other)
      .find({}, { sort: { _id: 1 } })
      .toArray();
    expect(sorted.map(({ _id }) => _id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    expect(await items('stale', shard1).countDocuments()).toBe(7);
  });

  it('follows a primary that has moved, collections that get sharded and ones that are dropped', async () => {
    await client.db('admin').command({ enableSharding: 'primaries', primaryShard: 'shard0' });
    const plain = (from: MongoClient) => from.db('primaries').collection<Item>('plain');
    await plain(other).insertOne({ _id: 1, k: 1 });
    await client.db('primaries').createCollection('seen', { viewOn: 'plain', pipeline: [] });
    const uuidOf = async (): Promise<unknown> => {
      const [listed] = await client.db('primaries').listCollections({ name: 'plain' }).toArray();
      return (listed as { info?: { uuid?: unknown } }).info?.uuid;
    };
    const version = async () =>
      (
        await client
          .db('config')
          .collection('databases')
          .findOne({ _id: 'primaries' as never })
      )?.version as { uuid: unknown; lastMod: number };
    const before = { uuid: await uuidOf(), version: await version() };
    await client.db('admin').command({ movePrimary: 'primaries', to: 'shard1' });
    expect(await uuidOf()).not.toEqual(before.uuid);
    expect(await version()).toEqual({ ...before.version, lastMod: before.version.lastMod + 1 });
    expect(await plain(other).find().toArray()).toEqual([{ _id: 1, k: 1 }]);
    expect(await client.db('primaries').collection('seen').countDocuments()).toBe(1);
    await client.db('primaries').command({ createIndexes: 'plain', indexes: [{ key: { k: 1 }, name: 'k_1' }] });
    await client.db('admin').command({ shardCollection: 'primaries.plain', key: { k: 1 } });
    await client
      .db('admin')
      .command({ moveChunk: 'primaries.plain', find: { k: 1 }, to: 'shard2', _waitForDelete: true });
    await plain(other).insertOne({ _id: 2, k: 2 });
    expect(await plain(client).countDocuments()).toBe(2);
    await plain(client).drop();
    expect(await plain(other).countDocuments()).toBe(0);
    await plain(other).insertOne({ _id: 3, k: 3 });
    expect(await plain(client).findOne()).toEqual({ _id: 3, k: 3 });
  });

  it('looks again before it refuses a write that it cannot target, when its collection has been replaced', async () => {
    await filled('replaced');
    expect(await items('replaced', other).countDocuments()).toBe(10);
    await items('replaced').drop();
    await items('replaced').insertMany([
      { _id: 1, k: 1 },
      { _id: 2, k: 2 },
    ]);
    const update = { update: 'replaced', updates: [{ q: { _id: 3 }, u: { $set: { v: 1 } }, upsert: true }] };
    expect(await other.db('moves').command(update)).toMatchObject({ ok: 1, n: 1 });
    expect(await items('replaced').findOne({ _id: 3 })).toEqual({ _id: 3, v: 1 });
    await client.db('admin').command({ shardCollection: 'moves.replaced', key: { _id: 1 } });
    const withoutKey = { ...update, updates: [{ q: { v: 7 }, u: { $set: { v: 1 } }, upsert: true }] };
    expect(await other.db('moves').command(withoutKey)).toMatchObject(
      version === '5.0' ? { n: 0, writeErrors: [{ code: 61 }] } : { n: 1 },
    );
  });

  it('executes a retryable write once though its chunk moves before the repetition', async () => {
    await filled('once');
    const lsid = { id: new UUID().toBinary() };
    const updates = [-1, 1].map((k) => ({ q: { k }, u: { $inc: { v: 1 } } }));
    const run = async (from: MongoClient, number: number): Promise<Document> => {
      await using one = await MongoClient.connect(`mongodb://${from.options.hosts[0]?.toString() ?? ''}`);
      const session = one.startSession();
      Object.assign((session as unknown as { serverSession: object }).serverSession, { id: lsid });
      return await one
        .db('moves')
        .command({ update: 'once', updates, ordered: false, txnNumber: Long.fromInt(number) }, { session });
    };
    expect(await run(client, 7)).toMatchObject({ n: 2, nModified: 2 });
    await move('once', 1, 'shard1');
    expect(await run(other, 7)).toMatchObject({ n: 2, nModified: 2 });
    expect(
      (
        await items('once')
          .find({ v: { $exists: true } })
          .toArray()
      ).map(({ v }) => v),
    ).toEqual([1, 1]);
    const refused = await run(client, 6).catch((error: unknown) => error);
    expect(JSON.stringify(refused)).toContain('225');
  });

  it('keeps what an open cursor may still need, and shows each document once', async () => {
    await filled('open');
    const cursor = items('open').find({}, { batchSize: 2 });
    const seen = [(await cursor.next())?._id];
    await shard0.db('admin').command({ setParameter: 1, orphanCleanupDelaySecs: 0 });
    await move('open', 1, 'shard1', {});
    for await (const { _id } of cursor) seen.push(_id);
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('waits for transactions that wrote to the collection, and gives up when they take too long', async () => {
    await filled('transactions');
    const session = client.startSession();
    session.startTransaction();
    await items('transactions').updateOne({ k: 1 }, { $set: { v: 1 } }, { session });
    await expect(move('transactions', 1, 'shard1')).rejects.toMatchObject({ code: 24 });
    await shard0.db('admin').command({ setParameter: 1, migrationLockAcquisitionMaxWaitMS: 60_000 });
    const moved = move('transactions', 1, 'shard1');
    await session.commitTransaction();
    await moved;
    await session.endSession();
    expect(await items('transactions', shard1).findOne({ k: 1 })).toEqual({ _id: 6, k: 1, v: 1 });
  });

  it('waits for a transaction that holds an _id which the chunk brings', async () => {
    await filled('held');
    await move('held', 1, 'shard1');
    const waitUpTo = (limitMs: number) =>
      shard0.db('admin').command({ setParameter: 1, migrationLockAcquisitionMaxWaitMS: limitMs });
    const session = client.startSession();
    session.startTransaction();
    await items('held').insertOne({ _id: 1, k: 30 }, { session });
    await waitUpTo(20);
    await expect(move('held', -1, 'shard1')).rejects.toMatchObject({ code: 24 });
    await waitUpTo(60_000);
    const moved = move('held', -1, 'shard1');
    await session.abortTransaction();
    await moved;
    await session.endSession();
    expect(await items('held', shard1).countDocuments()).toBe(10);
  });

  it('splits by find, bounds and middle, merges, and refuses what does not fit', async () => {
    await filled('splits');
    const admin = client.db('admin');
    const bounds = async (): Promise<unknown[]> => {
      const { uuid } = (await client
        .db('config')
        .collection('collections')
        .findOne({ _id: 'moves.splits' as never })) as unknown as { uuid: unknown };
      const chunks = await client
        .db('config')
        .collection('chunks')
        .find({ uuid }, { sort: { min: 1 } })
        .toArray();
      return chunks.map((chunk) => (chunk['min'] as Item).k);
    };
    await admin.command({ split: 'moves.splits', find: { k: -3 } });
    expect(await bounds()).toEqual([new MinKey(), -3, 0]);
    await admin.command({ split: 'moves.splits', bounds: [{ k: 0 }, { k: new MaxKey() }] });
    expect(await bounds()).toEqual([new MinKey(), -3, 0, 2]);
    await expect(admin.command({ split: 'moves.splits', middle: { k: 2 } })).rejects.toThrow(
      'is a boundary key of existing chunk',
    );
    await admin.command({ mergeChunks: 'moves.splits', bounds: [{ k: -3 }, { k: 2 }] });
    expect(await bounds()).toEqual([new MinKey(), -3, 2]);
    await expect(admin.command({ mergeChunks: 'moves.splits', bounds: [{ k: -3 }, { k: 1 }] })).rejects.toMatchObject({
      code: 20,
    });
  });

  it('hides orphans after a rename too', async () => {
    await filled('before');
    await shard0.db('admin').command({ setParameter: 1, orphanCleanupDelaySecs: 3600 });
    await move('before', 1, 'shard1', {});
    await items('before').rename('after');
    expect(await items('after', other).countDocuments({ k: { $gte: -5 } })).toBe(10);
    expect(
      await items('after')
        .find({}, { sort: { _id: -1 } })
        .toArray(),
    ).toHaveLength(10);
    await move('after', 1, 'shard0');
    expect(await items('after', shard0).find().toArray()).toHaveLength(10);
  });

  it('gives transactions up that read at a time before their chunk moved', async () => {
    await filled('conflicts');
    const session = client.startSession();
    session.startTransaction({ readConcern: { level: 'snapshot' } });
    expect(await items('conflicts').countDocuments({ k: -1 }, { session })).toBe(1);
    await move('conflicts', 1, 'shard1');
    const read = items('conflicts').findOne({ k: 1 }, { session });
    await expect(read).rejects.toMatchObject({ code: 272 });
    await expect(read).rejects.toSatisfy((error: Document) =>
      (error['errorLabels'] as string[]).includes('TransientTransactionError'),
    );
    await session.endSession();
  });
});

describe('orphans since 6.0', () => {
  it('are left alone by what routers send', async () => {
    const cluster = await startWholeCluster({ shards: 2, version: '6.0', balancerRoundMs: 0 });
    const client = await MongoClient.connect(cluster.connectionString);
    const admin = client.db('admin');
    await admin.command({ shardCollection: 'db.c', key: { k: 1 } });
    await admin.command({ split: 'db.c', middle: { k: 0 } });
    const items = client.db('db').collection<Item>('c');
    await items.insertMany([
      { _id: 1, k: -1 },
      { _id: 2, k: 1 },
    ]);
    const { shard } = (await client.db('config').collection('chunks').findOne()) as unknown as { shard: string };
    await admin.command({ moveChunk: 'db.c', find: { k: 0 }, to: shard === 'shard0' ? 'shard1' : 'shard0' });
    expect((await items.updateMany({ _id: { $gte: 0 } }, { $set: { v: 1 } })).modifiedCount).toBe(2);
    expect((await items.deleteMany({ v: 1 })).deletedCount).toBe(2);
    await client.close();
    await cluster.close();
  });
});
