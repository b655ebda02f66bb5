import { type ClientBulkWriteModel, Long, MongoClient, MongoClientBulkWriteError } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startCluster } from '../../../src/cluster/cluster.js';
import { startReplicaSet } from '../../../src/cluster/replica-set.js';

interface Item {
  _id: number;
  n?: number;
}

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function replicaSet(version: '7.0' | '8.0'): Promise<MongoClient> {
  const set = await startReplicaSet({ version });
  const client = await new MongoClient(set.connectionString).connect();
  closers.push(
    () => set.close(),
    () => client.close(),
  );
  return client;
}

async function cluster(): Promise<MongoClient> {
  const running = await startCluster({ shards: 2, version: '8.0' });
  const client = await new MongoClient(running.connectionString).connect();
  closers.push(
    () => running.close(),
    () => client.close(),
  );
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  return client;
}

const models: ClientBulkWriteModel<Record<string, Item>>[] = [
  { namespace: 'shop.orders', name: 'insertOne', document: { _id: 1, n: 1 } },
  { namespace: 'shop.orders', name: 'insertOne', document: { _id: 2, n: 1 } },
  { namespace: 'shop.items', name: 'insertOne', document: { _id: 1 } },
  { namespace: 'shop.orders', name: 'updateMany', filter: {}, update: { $inc: { n: 1 } } },
  { namespace: 'shop.items', name: 'updateOne', filter: { _id: 9 }, update: { $set: { n: 9 } }, upsert: true },
  { namespace: 'shop.orders', name: 'deleteOne', filter: { _id: 1 } },
];

describe('bulkWrite', () => {
  it.each([
    ['a replica set', () => replicaSet('8.0')],
    ['a sharded cluster', cluster],
  ])('writes to several collections of %s', async (_, open) => {
    const client = await open();
    const result = await client.bulkWrite<Record<string, Item>>(models, { verboseResults: true });
    expect(result).toMatchObject({
      insertedCount: 3,
      matchedCount: 2,
      modifiedCount: 2,
      upsertedCount: 1,
      deletedCount: 1,
    });
    expect(result.updateResults?.get(3)).toMatchObject({ matchedCount: 2, modifiedCount: 2 });
    expect(result.updateResults?.get(4)).toMatchObject({ modifiedCount: 0, upsertedId: 9 });
    expect(await client.db('shop').collection('orders').find().toArray()).toEqual([{ _id: 2, n: 2 }]);
    expect(await client.db('shop').collection('items').countDocuments()).toBe(2);
  });

  it('stops at the first failure when ordered, continues when not, and names what failed', async () => {
    const client = await replicaSet('8.0');
    const insert = (id: number): ClientBulkWriteModel<Record<string, Item>> => ({
      namespace: 'shop.orders',
      name: 'insertOne',
      document: { _id: id },
    });
    const ordered = await client
      .bulkWrite<Record<string, Item>>([insert(1), insert(1), insert(2)])
      .catch((error: unknown) => error);
    expect(ordered).toBeInstanceOf(MongoClientBulkWriteError);
    const { writeErrors, partialResult } = ordered as MongoClientBulkWriteError;
    expect([...writeErrors]).toMatchObject([[1, { code: 11000 }]]);
    expect(partialResult).toMatchObject({ insertedCount: 1 });
    const unordered = await client
      .bulkWrite<Record<string, Item>>([insert(1), insert(3), insert(1), insert(4)], { ordered: false })
      .catch((error: unknown) => error);
    expect([...(unordered as MongoClientBulkWriteError).writeErrors.keys()]).toEqual([0, 2]);
    expect(await client.db('shop').collection('orders').countDocuments()).toBe(3);
  });

  it('takes part in a transaction', async () => {
    const client = await replicaSet('8.0');
    await client.withSession(async (session) => {
      session.startTransaction();
      await client.bulkWrite<Record<string, Item>>(models, { session });
      await session.abortTransaction();
      expect(await client.db('shop').collection('items').countDocuments()).toBe(0);
      session.startTransaction();
      await client.bulkWrite<Record<string, Item>>(models, { session });
      await session.commitTransaction();
    });
    expect(await client.db('shop').collection('items').countDocuments()).toBe(2);
  });

  it('runs once when it is sent twice under one number', async () => {
    const client = await replicaSet('8.0');
    await client.withSession(async (session) => {
      const command = {
        bulkWrite: 1,
        ops: [
          { insert: 0, document: { _id: 1, n: 0 } },
          { update: 0, filter: { _id: 1 }, updateMods: { $inc: { n: 1 } } },
        ],
        nsInfo: [{ ns: 'shop.orders' }],
        txnNumber: Long.fromNumber(7),
      };
      const first = await client.db('admin').command(command, { session });
      expect(await client.db('admin').command(command, { session })).toMatchObject({
        nInserted: 1,
        nModified: 1,
        nErrors: 0,
      });
      expect(first.cursor).toEqual({
        id: 0,
        firstBatch: [
          { ok: 1, idx: 0, n: 1 },
          { ok: 1, idx: 1, n: 1, nModified: 1 },
        ],
        ns: 'admin.$cmd.bulkWrite',
      });
    });
    expect(await client.db('shop').collection('orders').findOne()).toMatchObject({ n: 1 });
  });

  it('is a command of admin, wants its namespaces, and is unknown before 8.0', async () => {
    const client = await replicaSet('8.0');
    const body = { bulkWrite: 1, ops: [{ insert: 1, document: {} }], nsInfo: [{ ns: 'shop.orders' }] };
    await expect(client.db('shop').command(body)).rejects.toMatchObject({ code: 13 });
    await expect(client.db('admin').command(body)).rejects.toMatchObject({
      code: 2,
      message: 'BulkWrite ops entry 0 has an invalid nsInfo index.',
    });
    await expect((await replicaSet('7.0')).db('admin').command(body)).rejects.toMatchObject({ code: 59 });
  });
});
