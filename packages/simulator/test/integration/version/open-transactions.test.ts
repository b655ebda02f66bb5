import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';

it('currentOp shows the open transactions of every shard, and what meets its conditions alone', async () => {
  const cluster = await startWholeCluster({ shards: 2, version: '7.0' });
  const client = await new MongoClient(cluster.connectionString).connect();
  try {
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'shop', primaryShard: 'shard1' });
    const orders = client.db('shop').collection('orders');
    await orders.insertOne({ n: 0 });
    const condition = { $all: true, 'transaction.parameters.autocommit': false };
    const open = async (): Promise<unknown[]> =>
      (await admin.command({ currentOp: 1, ...condition })).inprog as unknown[];
    expect(await open()).toEqual([]);
    const session = client.startSession();
    session.startTransaction();
    await orders.insertOne({ n: 1 }, { session });
    expect(await open()).toEqual([
      expect.objectContaining({
        type: 'idleSession',
        transaction: expect.objectContaining({ timeOpenMicros: expect.any(Number) as unknown }) as unknown,
      }),
    ]);
    await session.commitTransaction();
    expect(await open()).toEqual([]);
    await session.endSession();
  } finally {
    await client.close();
    await cluster.close();
  }
});
