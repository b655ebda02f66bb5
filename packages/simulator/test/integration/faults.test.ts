import { type Document, MaxKey, MinKey, MongoClient, type Timestamp } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startCluster } from '../../src/cluster/cluster.js';
import { startReplicaSet } from '../../src/cluster/replica-set.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

describe('faults and migrations', () => {
  let cluster: Cluster;
  let client: MongoClient;
  let shard0: MongoClient;

  beforeAll(async () => {
    cluster = await startCluster({ shards: 2, routers: 2, noopIntervalMs: 50 });
    client = await MongoClient.connect(cluster.connectionString);
    shard0 = await MongoClient.connect(`mongodb://${cluster.shards[0] ?? ''}/?directConnection=true`);
    await client.db('admin').command({ enableSharding: 'faults', primaryShard: 'shard0' });
  });

  afterAll(async () => {
    await Promise.all([client.close(), shard0.close()]);
    await cluster.close();
  });

  async function filled(name: string): Promise<void> {
    await client.db('admin').command({ shardCollection: `faults.${name}`, key: { k: 1 } });
    await client.db('admin').command({ split: `faults.${name}`, middle: { k: 0 } });
    const documents = Array.from({ length: 10 }, (_, _id) => ({ _id, k: _id - 5 }));
    await client.db('faults').collection<Item>(name).insertMany(documents);
  }

  it('fails commands as told, on the router and on a shard, and lets the driver try again', async () => {
    const failPoint = (data: Document): Document => ({ configureFailPoint: 'failCommand', mode: { times: 1 }, data });
    await client.db('admin').command(failPoint({ failCommands: ['find'], errorCode: 13 }));
    await expect(client.db('faults').collection('none').findOne()).rejects.toMatchObject({ code: 13 });
    await client.db('admin').command(failPoint({ failCommands: ['insert'], closeConnection: true }));
    await client.db('faults').collection<Item>('again').insertOne({ _id: 1, k: 1 });
    await shard0.db('admin').command(failPoint({ failCommands: ['insert'], errorCode: 189, errorLabels: ['RetryableWriteError'] }));
    await shard0.db('faults').collection<Item>('direct').insertOne({ _id: 1, k: 1 });
    expect(await client.db('faults').collection('again').countDocuments()).toBe(1);
  });

  it('leaves orphans where they are while their clean-up is suspended', async () => {
    await filled('orphans');
    const orphans = client.db('faults').collection<Item>('orphans');
    await shard0.db('admin').command({ configureFailPoint: 'suspendRangeDeletion', mode: 'alwaysOn' });
    await shard0.db('admin').command({ setParameter: 1, orphanCleanupDelaySecs: 0 });
    await client.db('admin').command({ moveChunk: 'faults.orphans', find: { k: 1 }, to: 'shard1' });
    expect(await shard0.db('faults').collection('orphans').find().toArray()).toHaveLength(10);
    expect(await orphans.find().toArray()).toHaveLength(10);
    expect((await orphans.updateMany({ _id: { $gte: 0 } }, { $set: { v: 1 } })).modifiedCount).toBe(15);
    await shard0.db('admin').command({ configureFailPoint: 'suspendRangeDeletion', mode: 'off' });
    await shard0.db('admin').command({ cleanupOrphaned: 'faults.orphans' });
    expect(await shard0.db('faults').collection('orphans').find().toArray()).toHaveLength(5);
  });

  it('reads at a time before a chunk moved', async () => {
    await filled('history');
    const { operationTime } = (await client.db('faults').command({ ping: 1 })) as { operationTime: Timestamp };
    await client.db('admin').command({ moveChunk: 'faults.history', find: { k: 1 }, to: 'shard1', _waitForDelete: true });
    await client.db('faults').collection('history').deleteMany({});
    const command = { find: 'history', hint: { k: 1 }, min: { k: new MinKey() }, max: { k: new MaxKey() } };
    const reply = await client.db('faults').command({ ...command, readConcern: { level: 'snapshot', atClusterTime: operationTime } });
    expect((reply['cursor'] as { firstBatch: Item[] }).firstBatch.map((document) => document._id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('moves a document to the shard of its new key', async () => {
    await filled('moving');
    await client.db('admin').command({ moveChunk: 'faults.moving', find: { k: 1 }, to: 'shard1', _waitForDelete: true });
    const moving = client.db('faults').collection<Item>('moving');
    const stream = client.watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    expect((await moving.updateOne({ _id: 1, k: -4 }, { $set: { k: 40 } })).modifiedCount).toBe(1);
    expect([(await stream.next())._id, (await stream.next())._id].every((token) => token !== undefined)).toBe(true);
    await stream.close();
    expect(await shard0.db('faults').collection<Item>('moving').findOne({ _id: 1 })).toBeNull();
    expect(await moving.findOne({ k: 40 })).toEqual({ _id: 1, k: 40 });
  });

  it('answers alike through every router, compressed too', async () => {
    await using other = await MongoClient.connect(`mongodb://${cluster.routers[1] ?? ''}`, { compressors: ['zlib'] });
    await client.db('faults').collection<Item>('shared').insertMany([{ _id: 1, k: 1 }, { _id: 2, k: 2 }]);
    expect(await other.db('faults').collection('shared').find().toArray()).toEqual([{ _id: 1, k: 1 }, { _id: 2, k: 2 }]);
  });

  it('is found as a replica set', async () => {
    const set = await startReplicaSet();
    await using member = await MongoClient.connect(set.connectionString);
    const items = member.db('test').collection<Item>('items');
    await items.insertOne({ _id: 1, k: 1 });
    expect(await items.findOneAndUpdate({ _id: 1 }, { $inc: { k: 1 } }, { returnDocument: 'after' })).toEqual({ _id: 1, k: 2 });
    await expect(member.db('admin').command({ listShards: 1 })).rejects.toMatchObject({ code: 59 });
    await member.close();
    await set.close();
  });
});
