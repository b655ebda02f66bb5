import { MongoClient, type MongoServerError, type Timestamp } from 'mongodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import { runFaultLine } from '../../src/process/fault-orders.js';

interface Item {
  _id: number;
  k: number;
}

describe('faults of nodes', () => {
  let cluster: Cluster;
  let client: MongoClient;
  let direct: MongoClient;

  beforeEach(async () => {
    cluster = await startWholeCluster({
      shards: 2,
      routers: 2,
      noopIntervalMs: 50,
      hostSelectionMs: 5000,
      balancerRoundMs: 0,
    });
    client = await MongoClient.connect(cluster.connectionString);
    direct = await MongoClient.connect(`mongodb://${cluster.shards[0] ?? ''}/?directConnection=true`);
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'db', primaryShard: 'shard0' });
    await admin.command({ shardCollection: 'db.c', key: { k: 1 } });
    await admin.command({ split: 'db.c', middle: { k: 0 } });
    await admin.command({ moveChunk: 'db.c', find: { k: 1 }, to: 'shard1', _waitForDelete: true });
  });

  afterEach(async () => {
    for (const node of cluster.nodes.values()) node.heal();
    await Promise.all([client.close(), direct.close()]);
    await cluster.close();
  });

  const items = (from = client) => from.db('db').collection<Item>('c');

  it('loses nothing acknowledged when nodes restart under load', async () => {
    const acknowledged: number[] = [];
    let done = false;
    const writer = async (first: number): Promise<void> => {
      for (let n = first; !done; n += 4) {
        const sent = await items()
          .insertOne({ _id: n, k: n % 2 === 0 ? n : -n })
          .catch(() => undefined);
        if (sent !== undefined) acknowledged.push(n);
      }
    };
    const writers = [0, 1, 2, 3].map(writer);
    for (const name of ['shard0', 'router0', 'shard1', 'config', 'shard0']) {
      const before = acknowledged.length;
      await cluster.node(name).stop();
      await cluster.node(name).start();
      await vi.waitFor(() => expect(acknowledged.length).toBeGreaterThan(before + 20), {
        timeout: 60_000,
        interval: 5,
      });
    }
    done = true;
    await Promise.all(writers);
    const stored = new Set((await items().find().toArray()).map(({ _id }) => _id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(new Set(acknowledged).size).toBe(acknowledged.length);
  });

  it('refuses connections while stopped, keeps data and port, loses cursors', async () => {
    await items().insertMany([1, 2, 3, 4].map((n) => ({ _id: n, k: -n })));
    const cursor = direct.db('db').collection('c').find({}, { batchSize: 2 });
    await cursor.next();
    await cursor.next();
    await cluster.node('shard0').stop();
    const host = cluster.shards[0] ?? '';
    await expect(
      MongoClient.connect(`mongodb://${host}/?directConnection=true&serverSelectionTimeoutMS=200`),
    ).rejects.toThrow();
    await cluster.node('shard0').start();
    expect(await direct.db('db').collection('c').countDocuments()).toBe(4);
    await expect(cursor.next()).rejects.toMatchObject({ code: 43 });
  });

  it('answers as a router does that finds no primary, and waits for one', async () => {
    await using waiting = await MongoClient.connect(cluster.connectionString, {
      retryReads: false,
      retryWrites: false,
    });
    await cluster.node('shard1').stop();
    expect(await items(waiting).findOne({ k: -1 })).toBeNull();
    const read = items(waiting).findOne({ k: 1 });
    const write = items(waiting).insertOne({ _id: 1, k: 1 });
    await cluster.node('shard1').start();
    expect([null, 1]).toContain((await read)?._id ?? null);
    expect((await write).insertedId).toBe(1);
  });

  it('says FailedToSatisfyReadPreference when it has waited for too long', async () => {
    const impatient = await startWholeCluster({ shards: 1, hostSelectionMs: 20 });
    await using other = await MongoClient.connect(impatient.connectionString, { retryReads: false });
    await other.db('db').collection<Item>('c').insertOne({ _id: 1, k: 1 });
    await impatient.node('shard0').stop();
    await expect(other.db('db').collection('c').findOne()).rejects.toMatchObject({
      code: 133,
      codeName: 'FailedToSatisfyReadPreference',
    });
    await other.close();
    await impatient.close();
  });

  it('steps down, refuses writes with its new topology, and is elected again', async () => {
    const admin = direct.db('admin');
    const before = await admin.command({ hello: 1 });
    await expect(admin.command({ replSetStepDown: 5, secondaryCatchUpPeriodSecs: 10 })).rejects.toMatchObject({
      code: 2,
    });
    await admin.command({ replSetStepDown: 3600, force: true });
    const hello = await admin.command({ hello: 1 });
    expect(hello).toMatchObject({ isWritablePrimary: false, secondary: true });
    expect(hello['topologyVersion']).not.toEqual(before['topologyVersion']);
    await using plain = await MongoClient.connect(
      `mongodb://${cluster.shards[0] ?? ''}/?directConnection=true&retryWrites=false`,
    );
    const refused = (await plain
      .db('db')
      .command({ insert: 'x', documents: [{ _id: 1 }] })
      .catch((error: unknown) => error)) as MongoServerError;
    expect(refused).toMatchObject({ code: 10107, codeName: 'NotWritablePrimary' });
    expect(refused['topologyVersion']).toEqual(hello['topologyVersion']);
    const written = items().insertOne({ _id: 7, k: -7 });
    cluster.member('shard0').elect();
    await written;
    const again = await admin.command({ hello: 1 });
    expect(again['isWritablePrimary']).toBe(true);
    expect(String(again['electionId'])).not.toBe(String(before['electionId']));
  });

  it('ends running transactions with a step-down', async () => {
    const session = client.startSession();
    session.startTransaction();
    await items().insertOne({ _id: 1, k: -1 }, { session });
    cluster.member('shard0').stepDown(3600);
    cluster.member('shard0').elect();
    await expect(session.commitTransaction()).rejects.toMatchObject({ code: 251 });
    await session.endSession();
    expect(await items().countDocuments()).toBe(0);
  });

  it('remembers retryable writes over a restart, but no numbers under which nothing was written', async () => {
    const session = direct.startSession();
    const statement = (txnNumber: bigint, k: number) =>
      direct
        .db('db')
        .command({ update: 'plain', updates: [{ q: { _id: 1 }, u: { $inc: { k } } }], txnNumber }, { session });
    await direct.db('db').collection<Item>('plain').insertOne({ _id: 1, k: 0 });
    await statement(5n, 1);
    await direct
      .db('db')
      .command({ update: 'plain', updates: [{ q: { _id: 99 }, u: { $inc: { k: 1 } } }], txnNumber: 9n }, { session });
    await cluster.node('shard0').restart();
    await vi.waitFor(() => direct.db('admin').command({ ping: 1 }), { timeout: 30_000 });
    expect(await statement(5n, 1)).toMatchObject({ n: 1, nModified: 1 });
    expect((await direct.db('db').collection<Item>('plain').findOne())?.k).toBe(1);
    await expect(statement(4n, 1)).rejects.toMatchObject({ code: 225 });
    await session.endSession();
  });

  it('cuts a connection within an answer: the write happened, the driver repeats it, it counts once', async () => {
    await items().insertOne({ _id: 1, k: -1 });
    cluster.node('router0').cutWithinReply('update', 20);
    expect((await items().updateOne({ k: -1 }, { $inc: { n: 1 } })).modifiedCount).toBe(1);
    expect(await items().findOne({ k: -1 })).toMatchObject({ n: 1 });
  });

  it('cuts a connection within a command: nothing happened before it is sent again', async () => {
    await items().insertOne({ _id: 1, k: -1 });
    cluster.node('router0').cutAfterBytes(10, 'received');
    await using plain = await MongoClient.connect(cluster.connectionString, { retryReads: false }).catch(() =>
      MongoClient.connect(cluster.connectionString),
    );
    expect(await items(plain).findOne({ k: -1 })).toMatchObject({ _id: 1 });
  });

  it('slows answers down and holds commands while paused', async () => {
    cluster.node('router0').slowConnections({ latencyMs: 60 });
    const started = Date.now();
    await client.db('admin').command({ ping: 1 });
    expect(Date.now() - started).toBeGreaterThanOrEqual(55);
    cluster.node('router0').heal();
    cluster.node('shard0').pause();
    let answered = false;
    const read = items()
      .findOne({ k: -1 })
      .then((found) => {
        answered = true;
        return found;
      });
    expect(await items().findOne({ k: 1 })).toBeNull();
    expect(answered).toBe(false);
    cluster.node('shard0').resume();
    expect(await read).toBeNull();
  });

  it('loses history when the oplog is filled', async () => {
    const { operationTime } = (await direct
      .db('db')
      .command({ insert: 'plain', documents: [{ _id: 1 }] })) as unknown as { operationTime: Timestamp };
    await direct.db('db').command({ insert: 'plain', documents: [{ _id: 2 }] });
    cluster.member('shard0').fillOplog();
    const stream = direct.watch([], { startAtOperationTime: operationTime, maxAwaitTimeMS: 100 });
    await expect(stream.next()).rejects.toMatchObject({ code: 286 });
    await stream.close();
  });

  it('continues a merged stream after a shard restarts', async () => {
    const stream = client.watch([], { maxAwaitTimeMS: 100 });
    await stream.tryNext();
    await items().insertOne({ _id: 1, k: 1 });
    expect(await stream.next()).toMatchObject({ documentKey: { _id: 1 } });
    await cluster.node('shard1').restart();
    await items().insertOne({ _id: 2, k: 2 });
    expect(await stream.next()).toMatchObject({ documentKey: { _id: 2 } });
    await stream.close();
  });

  it('takes orders as lines', async () => {
    expect(await runFaultLine(cluster.nodes, '{"stop":"shard1"}')).toBe('{"done":{"stop":"shard1"}}');
    expect(cluster.node('shard1').running).toBe(false);
    expect(await runFaultLine(cluster.nodes, '{"start":"shard1"}')).toBe('{"done":{"start":"shard1"}}');
    expect(JSON.parse(await runFaultLine(cluster.nodes, '{"stop":"shard9"}'))).toMatchObject({
      failed: { stop: 'shard9' },
    });
    expect(JSON.parse(await runFaultLine(cluster.nodes, 'no order'))).toMatchObject({ failed: 'no order' });
  });
});
