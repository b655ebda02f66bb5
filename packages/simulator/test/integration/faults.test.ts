import { type Document, MongoClient, MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import { startWholeReplicaSet } from '../../src/cluster/replica-set.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

const failPoint = (data: Document, mode: Document | string = { times: 1 }): Document => ({
  configureFailPoint: 'failCommand',
  mode,
  data,
});

describe('failCommand', () => {
  let cluster: Cluster;
  let client: MongoClient;
  let shard0: MongoClient;

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 2, noopIntervalMs: 50 });
    client = await MongoClient.connect(cluster.connectionString, { heartbeatFrequencyMS: 500 });
    shard0 = await MongoClient.connect(`mongodb://${cluster.shards[0] ?? ''}/?directConnection=true`);
    await client.db('admin').command({ enableSharding: 'faults', primaryShard: 'shard0' });
  });

  afterAll(async () => {
    await Promise.all([client.close(), shard0.close()]);
    await cluster.close();
  });

  it('fails a command with a code', async () => {
    await client.db('admin').command(failPoint({ failCommands: ['find'], errorCode: 13 }));
    await expect(client.db('faults').collection('none').findOne()).rejects.toMatchObject({
      code: 13,
      message: `Failing command via 'failCommand' failpoint`,
    });
    expect(await client.db('faults').collection('none').findOne()).toBeNull();
  });

  it('lets the driver repeat reads and writes', async () => {
    const items = client.db('faults').collection<Item>('again');
    await client.db('admin').command(failPoint({ failCommands: ['insert'], closeConnection: true }));
    await items.insertOne({ _id: 1, k: 1 });
    await client.db('admin').command(failPoint({ failCommands: ['find'], closeConnection: true }));
    expect(await items.findOne({ _id: 1 })).toEqual({ _id: 1, k: 1 });
    await shard0.db('admin').command(failPoint({ failCommands: ['insert'], errorCode: 189 }));
    await shard0.db('faults').collection<Item>('direct').insertOne({ _id: 1, k: 1 });
    expect(await shard0.db('faults').collection('direct').countDocuments()).toBe(1);
  });

  it('labels errors as a member does, and as the fail point says', async () => {
    const insert = { insert: 'labels', documents: [{ _id: 1 }] };
    await using plain = await MongoClient.connect(
      `mongodb://${cluster.shards[0] ?? ''}/?directConnection=true&retryWrites=false`,
    );
    const session = plain.startSession();
    const failure = async (data: Document): Promise<MongoServerError> => {
      await plain.db('admin').command(failPoint({ failCommands: ['insert'], errorCode: 91, ...data }));
      const thrown: unknown = await plain
        .db('faults')
        .command({ ...insert, txnNumber: 1n }, { session })
        .catch((error: unknown) => error);
      return thrown as MongoServerError;
    };
    expect((await failure({})).errorLabels).toContain('RetryableWriteError');
    expect((await failure({ errorLabels: [] })).errorLabels).not.toContain('RetryableWriteError');
    expect((await failure({ errorLabels: ['Own'] })).errorLabels).toContain('Own');
    // A client that knows the version already need not ask again: a shutdown that nobody asked for has none.
    expect(await failure({ errorCode: 189 })).toHaveProperty('topologyVersion');
    expect(await failure({})).not.toHaveProperty('topologyVersion');
    await session.endSession();
  });

  it('reports a failed write concern of a write that happened', async () => {
    const writeConcernError = { code: 91, errmsg: 'shutting down' };
    await client.db('admin').command(failPoint({ failCommands: ['insert'], writeConcernError }));
    await expect(client.db('faults').command({ insert: 'concern', documents: [{ _id: 1 }] })).rejects.toMatchObject({
      code: 91,
      errmsg: 'shutting down',
    });
    expect(await client.db('faults').collection('concern').countDocuments()).toBe(1);
  });

  it('counts, and keeps to names, namespaces and applications', async () => {
    const admin = client.db('admin');
    const { count } = await admin.command(
      failPoint({ failCommands: ['count'], errorCode: 2, namespace: 'faults.one' }, 'alwaysOn'),
    );
    await expect(client.db('faults').command({ count: 'one' })).rejects.toMatchObject({ code: 2 });
    await client.db('faults').command({ count: 'two' });
    expect((await admin.command({ configureFailPoint: 'failCommand', mode: 'off' }))['count']).toBe(
      (count as number) + 1,
    );
    await admin.command(failPoint({ failCommands: ['count'], errorCode: 2, appName: 'elsewhere' }, 'alwaysOn'));
    await client.db('faults').command({ count: 'one' });
    await using elsewhere = await MongoClient.connect(cluster.connectionString, { appName: 'elsewhere' });
    await expect(elsewhere.db('faults').command({ count: 'one' })).rejects.toMatchObject({ code: 2 });
    await admin.command({ configureFailPoint: 'failCommand', mode: 'off' });
  });

  it('does not apply to commands of routers', async () => {
    const data = { failCommands: ['insert'], errorCode: 11000 };
    await shard0.db('admin').command(failPoint(data, 'alwaysOn'));
    await client.db('faults').collection<Item>('internal').insertOne({ _id: 1, k: 1 });
    await expect(shard0.db('admin').command(failPoint({ ...data, failInternalCommands: true }))).rejects.toMatchObject({
      code: 115,
    });
    await shard0.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' });
  });

  it('refuses what it does not know', async () => {
    const admin = client.db('admin');
    await expect(admin.command({ configureFailPoint: 'noSuchPoint', mode: 'alwaysOn' })).rejects.toMatchObject({
      code: 266,
    });
    await expect(admin.command({ configureFailPoint: 'failCommand' })).rejects.toMatchObject({ code: 20 });
    await expect(admin.command({ configureFailPoint: 'failCommand', mode: 'sometimes' })).rejects.toMatchObject({
      code: 2,
    });
    await expect(client.db('other').command({ configureFailPoint: 'failCommand', mode: 'off' })).rejects.toMatchObject({
      code: 13,
    });
  });
});

describe('a replica set', () => {
  it('is found, and refuses what only routers do', async () => {
    const set = await startWholeReplicaSet();
    await using member = await MongoClient.connect(set.connectionString);
    const items = member.db('test').collection<Item>('items');
    await items.insertOne({ _id: 1, k: 1 });
    expect(await items.findOneAndUpdate({ _id: 1 }, { $inc: { k: 1 } }, { returnDocument: 'after' })).toEqual({
      _id: 1,
      k: 2,
    });
    await expect(member.db('admin').command({ listShards: 1 })).rejects.toMatchObject({ code: 59 });
    await member.close();
    await set.close();
  });
});
