import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTransactions } from '../../../src/cluster/current-operations.js';
import { SplitCluster } from './split-cluster.js';

describe('a transaction over two shards', () => {
  let split: SplitCluster;
  let client: MongoClient;
  let shard1: MongoClient;

  beforeAll(async () => {
    split = await SplitCluster.start({ direct: true });
    client = await MongoClient.connect(split.connectionString);
    const { shards } = await client.db('admin').command({ listShards: 1 });
    const host = (shards as { _id: string; host: string }[])
      .find(({ _id }) => _id === 'shard1')
      ?.host.split('/')
      .at(-1);
    shard1 = await MongoClient.connect(`mongodb://${host ?? ''}/?directConnection=true`);
  });

  afterAll(async () => {
    await Promise.all([client.close(), shard1.close()]);
    await split[Symbol.asyncDispose]();
  });

  const look = (): Promise<Set<string>> => openTransactions(split.cluster, { signal: split.signal });

  it('has the same name in every read until the last shard has committed', async () => {
    const coll = client.db('db').collection<{ _id: number; sk: number }>('coll');
    await using session = client.startSession();
    // Both shards learn that they have chunks, which would abort a transaction.
    await coll.insertMany([
      { _id: 3, sk: -1 },
      { _id: 4, sk: 1 },
    ]);
    expect(await look()).toEqual(new Set());
    session.startTransaction();
    await coll.insertOne({ _id: 1, sk: -1 }, { session });
    const open = await look();
    expect(open.size).toBe(1);
    await coll.insertOne({ _id: 2, sk: 1 }, { session });
    expect(await look()).toEqual(open);
    await shard1.db('admin').command({ configureFailPoint: 'hangBeforeCommitingTxn', mode: 'alwaysOn' });
    const committed = session.commitTransaction();
    await expect.poll(() => coll.countDocuments()).toBe(3);
    expect(await look()).toEqual(open);
    await shard1.db('admin').command({ configureFailPoint: 'hangBeforeCommitingTxn', mode: 'off' });
    await committed;
    await expect.poll(look).toEqual(new Set());
    expect(await coll.countDocuments()).toBe(4);
  });
});
