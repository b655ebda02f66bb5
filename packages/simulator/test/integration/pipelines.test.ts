import { type Db, MaxKey, MinKey, MongoClient } from 'mongodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

describe('pipelines and views through a router', () => {
  let cluster: Cluster;
  let client: MongoClient;
  let db: Db;
  let number = 0;

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 2, noopIntervalMs: 50 });
    client = await MongoClient.connect(cluster.connectionString);
  });

  afterAll(async () => {
    await client.close();
    await cluster.close();
  });

  /** A sharded collection `c` with keys -2 to 2 over two shards, and a plain one `p` on the first. */
  beforeEach(async () => {
    number += 1;
    db = client.db(`agg${number}`);
    await shard('c');
    await db.collection<Item>('c').insertMany([-2, -1, 0, 1, 2].map((k) => ({ _id: k + 3, k, v: k * k })));
    await db.collection<Item>('p').insertMany([
      { _id: 1, k: -1 },
      { _id: 2, k: 1 },
    ]);
  });

  async function shard(name: string): Promise<void> {
    const admin = client.db('admin');
    const namespace = `${db.databaseName}.${name}`;
    await admin.command({ enableSharding: db.databaseName, primaryShard: 'shard0' });
    for (const [zone, id] of [
      ['low', 'shard0'],
      ['high', 'shard1'],
    ])
      await admin.command({ addShardToZone: id, zone });
    await admin.command({ updateZoneKeyRange: namespace, min: { k: new MinKey() }, max: { k: 0 }, zone: 'low' });
    await admin.command({ updateZoneKeyRange: namespace, min: { k: 0 }, max: { k: new MaxKey() }, zone: 'high' });
    await admin.command({ shardCollection: namespace, key: { k: 1 } });
  }

  const keys = async (name: string): Promise<number[]> =>
    (
      await db
        .collection<Item>(name)
        .find({}, { sort: { k: 1 } })
        .toArray()
    ).map(({ k }) => k);

  it('show a view over a sharded collection whole', async () => {
    await db.createCollection('high', { viewOn: 'c', pipeline: [{ $match: { v: { $gte: 1 } } }] });
    await db.createCollection('named', { viewOn: 'high', pipeline: [{ $set: { name: 'n' } }] });
    expect(await keys('named')).toEqual([-2, -1, 1, 2]);
    expect(await db.collection('named').countDocuments({ k: { $gt: 0 } })).toBe(2);
    expect((await db.command({ count: 'named', query: { k: { $gt: 0 } } }))['n']).toBe(2);
    expect(await db.collection('named').distinct('v')).toEqual([1, 4]);
    expect(
      await db
        .collection('named')
        .aggregate([{ $group: { _id: '$name', n: { $sum: 1 } } }])
        .toArray(),
    ).toEqual([{ _id: 'n', n: 4 }]);
    expect(
      await db
        .collection('named')
        .find({}, { sort: { k: -1 }, limit: 2, projection: { k: 1, _id: 0 } })
        .toArray(),
    ).toEqual([{ k: 2 }, { k: 1 }]);
  });

  it('read a view over a sharded collection with its collation', async () => {
    await db.collection<Item & { name: string }>('c').insertOne({ _id: 9, k: 9, name: 'X' });
    await db.createCollection('folded', { viewOn: 'c', pipeline: [], collation: { locale: 'en', strength: 2 } });
    const folded = db.collection('folded');
    expect(await folded.find({ name: 'x' }).toArray()).toHaveLength(1);
    expect((await db.command({ count: 'folded', query: { name: 'x' } }))['n']).toBe(1);
    expect(await folded.distinct('k', { name: 'x' })).toEqual([9]);
    await expect(folded.find({ name: 'x' }, { collation: { locale: 'simple' } }).toArray()).rejects.toMatchObject({
      code: 167,
    });
    await expect(folded.rename('other')).rejects.toMatchObject({ code: 166 });
  });

  it('refuse to make a sharded collection again with other options', async () => {
    await expect(db.command({ create: 'c' })).resolves.toMatchObject({ ok: 1 });
    await expect(db.command({ create: 'c', validator: { k: 1 } })).rejects.toMatchObject({ code: 48 });
  });

  it('join sharded collections, views and plain ones', async () => {
    const lookup = { $lookup: { from: 'c', localField: 'k', foreignField: 'k', as: 'found' } };
    const joined = await db
      .collection('p')
      .aggregate([lookup, { $project: { n: { $size: '$found' } } }])
      .toArray();
    expect(joined).toEqual([
      { _id: 1, n: 1 },
      { _id: 2, n: 1 },
    ]);
    await db.createCollection('view', { viewOn: 'c', pipeline: [{ $match: { k: { $gt: 0 } } }] });
    const union = await db
      .collection('p')
      .aggregate([{ $unionWith: 'view' }, { $count: 'n' }])
      .toArray();
    expect(union).toEqual([{ n: 4 }]);
  });

  it('write the results of all shards with $out', async () => {
    await db.command({ createIndexes: 'p', indexes: [{ key: { v: 1 }, name: 'v_1' }] });
    await db
      .collection('c')
      .aggregate([{ $match: { k: { $ne: 0 } } }, { $out: 'p' }])
      .toArray();
    expect(await keys('p')).toEqual([-2, -1, 1, 2]);
    expect((await db.collection('p').indexes()).map(({ name }) => name)).toEqual(['_id_', 'v_1']);
    await expect(
      db
        .collection('p')
        .aggregate([{ $out: 'c' }])
        .toArray(),
    ).rejects.toMatchObject({ code: 28769 });
  });

  it('leave no temporary collection behind a $out that cannot take the name of its target', async () => {
    await db.command({ create: 'seen', viewOn: 'p', pipeline: [] });
    await expect(
      db
        .collection('c')
        .aggregate([{ $out: 'seen' }])
        .toArray(),
    ).rejects.toMatchObject({ code: 48 });
    const names = (await db.listCollections().toArray()).map(({ name }: { name: string }) => name);
    expect(names.filter((name) => name.startsWith('tmp.'))).toEqual([]);
    expect(names).toContain('seen');
  });
});
