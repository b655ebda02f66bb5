import { MongoClient } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import { startWholeReplicaSet } from '../../../src/cluster/replica-set.js';

const closers: (() => Promise<void>)[] = [];
const blocked = { code: 371 };

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function clientOf(connectionString: string): Promise<MongoClient> {
  const client = await new MongoClient(connectionString).connect();
  closers.push(() => client.close());
  return client;
}

describe('user write blocking', () => {
  it('stops writes and DDL changes of a cluster, on its shards too, until it is lifted', async () => {
    const cluster = await startWholeCluster({ shards: 2, version: '6.0' });
    closers.push(() => cluster.close());
    const client = await clientOf(cluster.connectionString);
    const admin = client.db('admin');
    const orders = client.db('shop').collection<{ _id: number; n?: number }>('orders');
    await orders.insertOne({ _id: 1, n: 1 });
    await orders.createIndexes([{ key: { n: 1 } }]);
    await admin.command({ setUserWriteBlockMode: 1, global: true });
    await expect(orders.insertOne({ _id: 2 })).rejects.toMatchObject({ ...blocked, message: 'User writes blocked' });
    await expect(orders.updateOne({ _id: 1 }, { $set: { n: 2 } })).rejects.toMatchObject(blocked);
    await expect(orders.deleteOne({ _id: 1 })).rejects.toMatchObject(blocked);
    await expect(orders.findOneAndUpdate({ _id: 1 }, { $set: { n: 3 } })).rejects.toMatchObject(blocked);
    await expect(orders.createIndexes([{ key: { x: 1 } }])).rejects.toMatchObject(blocked);
    await expect(orders.dropIndex('n_1')).rejects.toMatchObject(blocked);
    await expect(orders.drop()).rejects.toMatchObject(blocked);
    await expect(orders.rename('renamed')).rejects.toMatchObject(blocked);
    await expect(client.db('shop').createCollection('more')).rejects.toMatchObject(blocked);
    await expect(client.db('shop').dropDatabase()).rejects.toMatchObject(blocked);
    await expect(
      client.db('shop').command({ collMod: 'orders', index: { name: 'n_1', hidden: true } }),
    ).rejects.toMatchObject(blocked);
    await expect(admin.command({ shardCollection: 'shop.orders', key: { _id: 1 } })).rejects.toMatchObject(blocked);
    expect((await orders.updateOne({ _id: 99 }, { $set: { n: 1 } })).matchedCount).toBe(0);
    expect(await orders.createIndexes([{ key: { n: 1 } }])).toEqual(['n_1']);
    const unordered = await client
      .db('shop')
      .command({ insert: 'orders', documents: [{ _id: 7 }, { _id: 8 }], ordered: false });
    expect(unordered).toMatchObject({
      n: 0,
      writeErrors: [
        { index: 0, ...blocked },
        { index: 1, ...blocked },
      ],
    });
    await client.db('config').collection<{ _id: string }>('settings').insertOne({ _id: 'own' });
    for (const shard of cluster.shards) {
      const direct = await clientOf(`mongodb://${shard}/?directConnection=true`);
      await expect(direct.db('other').collection('c').insertOne({})).rejects.toMatchObject(blocked);
      await expect(direct.db('admin').command({ setUserWriteBlockMode: 1, global: false })).rejects.toMatchObject({
        code: 20,
      });
      expect((await direct.db('admin').command({ serverStatus: 1 })).repl).toMatchObject({ userWriteBlockMode: 2 });
    }
    const noted = client.db('config').collection('user_writes_critical_sections');
    expect(await noted.find().toArray()).toEqual([{ _id: '', blockNewUserShardedDDL: true, blockUserWrites: true }]);
    await admin.command({ setUserWriteBlockMode: 1, global: false });
    expect(await noted.countDocuments()).toBe(0);
    await orders.insertOne({ _id: 2 });
    expect(await orders.countDocuments()).toBe(2);
  });

  it('is refused without its field, and by releases before 6.0', async () => {
    const set = await startWholeReplicaSet({ version: '6.0' });
    closers.push(() => set.close());
    const admin = (await clientOf(set.connectionString)).db('admin');
    await expect(admin.command({ setUserWriteBlockMode: 1 })).rejects.toMatchObject({ code: 40414 });
    await admin.command({ setUserWriteBlockMode: 1, global: true });
    await expect(admin.command({ setFeatureCompatibilityVersion: '5.0' })).rejects.toMatchObject({ code: 20 });
    expect((await admin.command({ serverStatus: 1 })).repl).toMatchObject({ userWriteBlockMode: 2 });
    const old = await startWholeReplicaSet({ version: '5.0' });
    closers.push(() => old.close());
    const oldAdmin = (await clientOf(old.connectionString)).db('admin');
    await expect(oldAdmin.command({ setUserWriteBlockMode: 1, global: true })).rejects.toMatchObject({ code: 59 });
    expect((await oldAdmin.command({ serverStatus: 1 })).repl).not.toHaveProperty('userWriteBlockMode');
  });

  it('lets only users with the privilege continue to write', async () => {
    const users = [
      { user: 'migrator', password: 'secret', roles: ['restore', 'readWriteAnyDatabase'] },
      { user: 'writer', password: 'secret', roles: ['readWriteAnyDatabase'] },
    ];
    const cluster = await startWholeCluster({ shards: 1, version: '7.0', auth: { users } });
    closers.push(() => cluster.close());
    const as = (user: string): Promise<MongoClient> =>
      clientOf(`mongodb://${user}:secret@${cluster.router}/?authSource=admin`);
    const writer = (await as('writer')).db('shop').collection<{ _id: number }>('orders');
    const migrator = (await as('migrator')).db('shop').collection<{ _id: number }>('orders');
    await writer.insertOne({ _id: 1 });
    await expect(
      (await as('writer')).db('admin').command({ setUserWriteBlockMode: 1, global: true }),
    ).rejects.toMatchObject({ code: 13 });
    await (await as('migrator')).db('admin').command({ setUserWriteBlockMode: 1, global: true });
    await expect(writer.insertOne({ _id: 2 })).rejects.toMatchObject(blocked);
    await migrator.insertOne({ _id: 2 });
    await migrator.createIndexes([{ key: { n: 1 } }]);
    await migrator.drop();
    await expect(writer.createIndexes([{ key: { n: 1 } }])).rejects.toMatchObject(blocked);
  });
});
