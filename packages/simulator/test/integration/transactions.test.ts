import { Binary, Int32, Long } from 'bson';
import {
  type ClientSession,
  type Collection,
  MaxKey,
  MinKey,
  MongoClient,
  type MongoServerError,
  Timestamp,
} from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Doc, Value } from '../../src/bson/value.js';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import { internalRequest } from '../../src/node/internal-request.js';

interface Item {
  _id: number;
  k: number;
  v?: number;
}

describe('transactions through a router', () => {
  let cluster: Cluster;
  let client: MongoClient;
  let direct: MongoClient[];
  let number = 0;

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 2, routers: 2, noopIntervalMs: 50 });
    client = await MongoClient.connect(cluster.connectionString);
    direct = await Promise.all(
      cluster.shards.map((host) => MongoClient.connect(`mongodb://${host}/?directConnection=true`)),
    );
  });

  afterAll(async () => {
    await Promise.all([client, ...direct].map((each) => each.close()));
    await cluster.close();
  });

  /** A collection with a document on each of two shards: key -1 and 1. */
  async function collection(): Promise<Collection<Item>> {
    number += 1;
    const db = `tx${number}`;
    const admin = client.db('admin');
    await admin.command({ enableSharding: db, primaryShard: 'shard0' });
    for (const [zone, shard] of [
      ['low', 'shard0'],
      ['high', 'shard1'],
    ])
      await admin.command({ addShardToZone: shard, zone });
    await admin.command({ updateZoneKeyRange: `${db}.c`, min: { k: new MinKey() }, max: { k: 0 }, zone: 'low' });
    await admin.command({ updateZoneKeyRange: `${db}.c`, min: { k: 0 }, max: { k: new MaxKey() }, zone: 'high' });
    await admin.command({ shardCollection: `${db}.c`, key: { k: 1 } });
    const made = client.db(db).collection<Item>('c');
    await made.insertMany([
      { _id: 1, k: -1, v: 0 },
      { _id: 2, k: 1, v: 0 },
    ]);
    return made;
  }

  async function inSession<T>(use: (session: ClientSession) => Promise<T>): Promise<T> {
    const session = client.startSession();
    try {
      return await use(session);
    } finally {
      await session.endSession();
    }
  }

  const values = async (items: Collection<Item>): Promise<(number | undefined)[]> =>
    (await items.find({}, { sort: { _id: 1 } }).toArray()).map(({ v }) => v);

  it('show nothing before the commit and everything at one cluster time after it', async () => {
    const items = await collection();
    await inSession(async (session) => {
      session.startTransaction();
      await items.updateOne({ k: -1 }, { $set: { v: 1 } }, { session });
      await items.updateOne({ k: 1 }, { $set: { v: 1 } }, { session });
      expect(await values(items)).toEqual([0, 0]);
      expect((await items.find({}, { session, sort: { _id: 1 } }).toArray()).map(({ v }) => v)).toEqual([1, 1]);
      const before = session.operationTime;
      await session.commitTransaction();
      expect(await values(items)).toEqual([1, 1]);
      expect(before).toBeDefined();
    });
  });

  it('become visible on all shards at the same moment of the past', async () => {
    const items = await collection();
    const hello = await client.db('admin').command({ hello: 1 });
    const start = hello['operationTime'] as Timestamp;
    await inSession((session) =>
      session.withTransaction(async () => {
        await items.updateOne({ k: 1 }, { $set: { v: 1 } }, { session });
        await items.updateOne({ k: -1 }, { $set: { v: 1 } }, { session });
      }),
    );
    const end = (await client.db('admin').command({ hello: 1 }))['operationTime'] as Timestamp;
    const seen = new Set<string>();
    for (let t = start.t; t <= end.t; t += 1) {
      for (let i = t === start.t ? start.i : 1; i <= (t === end.t ? end.i : start.i + 40); i += 1) {
        const command = {
          find: 'c',
          readConcern: { level: 'snapshot', atClusterTime: new Timestamp({ t, i }) },
          sort: { _id: 1 },
        };
        const reply = await client
          .db(items.dbName)
          .command(command)
          .catch(() => undefined);
        const batch = (reply?.['cursor'] as { firstBatch: Item[] } | undefined)?.firstBatch ?? [];
        if (batch.length === 2) seen.add(batch.map(({ v }) => v).join());
      }
    }
    expect([...seen].sort()).toEqual(['0,0', '1,1']);
  });

  it('are given up on every shard after a failed statement', async () => {
    const items = await collection();
    await inSession(async (session) => {
      session.startTransaction();
      await items.updateOne({ k: -1 }, { $set: { v: 1 } }, { session });
      await expect(items.insertOne({ _id: 2, k: 1 }, { session })).rejects.toMatchObject({ code: 11000 });
      await expect(items.updateOne({ k: -1 }, { $set: { v: 2 } }, { session })).rejects.toMatchObject({ code: 251 });
      await session.abortTransaction();
    });
    expect(await values(items)).toEqual([0, 0]);
    await items.updateOne({ k: -1 }, { $set: { v: 5 } });
    expect(await values(items)).toEqual([5, 0]);
  });

  it('conflict with a write that came first, and may be tried again', async () => {
    const items = await collection();
    await inSession(async (session) => {
      session.startTransaction({ readConcern: { level: 'snapshot' } });
      await items.findOne({ k: 1 }, { session });
      await items.updateOne({ k: 1 }, { $set: { v: 7 } });
      const failure = await items.updateOne({ k: 1 }, { $set: { v: 8 } }, { session }).then(
        () => undefined,
        (error: unknown) => error as MongoServerError,
      );
      expect(failure?.code).toBe(112);
      expect(failure?.hasErrorLabel('TransientTransactionError')).toBe(true);
      await session.abortTransaction();
    });
    expect(await values(items)).toEqual([0, 7]);
  });

  it('read one snapshot on all shards', async () => {
    const items = await collection();
    await inSession(async (session) => {
      session.startTransaction({ readConcern: { level: 'snapshot' } });
      expect(await items.findOne({ k: -1 }, { session })).toMatchObject({ v: 0 });
      await items.updateOne({ k: 1 }, { $set: { v: 9 } });
      expect(await items.findOne({ k: 1 }, { session })).toMatchObject({ v: 0 });
      await session.commitTransaction();
    });
  });

  it('can be committed again, and by another router with the recovery token', async () => {
    const items = await collection();
    await inSession(async (session) => {
      session.startTransaction();
      await items.updateOne({ k: -1 }, { $set: { v: 1 } }, { session });
      await items.updateOne({ k: 1 }, { $set: { v: 1 } }, { session });
      expect((session as unknown as { transaction: { recoveryToken: unknown } }).transaction.recoveryToken).toEqual({
        recoveryShardId: 'shard0',
      });
      await session.commitTransaction();
      await session.commitTransaction();
      expect(await recovered(session, { recoveryShardId: 'shard0' })).toMatchObject({ ok: 1 });
      session.startTransaction();
      await items.updateOne({ k: -1 }, { $set: { v: 2 } }, { session });
      expect(await recovered(session, { recoveryShardId: 'shard0' })).toMatchObject({ ok: 0, code: 251 });
      expect(await recovered(session, {})).toMatchObject({ ok: 0, code: 251 });
      await session.abortTransaction();
    });
    expect(await values(items)).toEqual([1, 1]);
  });

  /** Commits the session's transaction through a router that has not seen it. */
  async function recovered(
    session: ClientSession,
    recoveryToken: Record<string, string>,
  ): Promise<Record<string, unknown>> {
    const { id, txnNumber } = session.serverSession as unknown as {
      id: { id: { buffer: Uint8Array } };
      txnNumber: number;
    };
    const body: Doc = new Map<string, Value>([
      ['commitTransaction', new Int32(1)],
      ['lsid', new Map([['id', new Binary(id.id.buffer, Binary.SUBTYPE_UUID)]])],
      ['txnNumber', Long.fromNumber(txnNumber)],
      ['autocommit', false],
      ['recoveryToken', new Map(Object.entries(recoveryToken))],
    ]);
    try {
      await otherRouter().run(internalRequest('admin', body));
      return { ok: 1 };
    } catch (error) {
      return { ok: 0, code: (error as { code: number }).code };
    }
  }

  function otherRouter() {
    const [, other] = cluster.routerMembers;
    if (other === undefined) throw new Error('the cluster has one router only');
    return other.router;
  }

  it('refuse what no transaction may do', async () => {
    const items = await collection();
    await inSession(async (session) => {
      session.startTransaction();
      await expect(client.db(items.dbName).command({ count: 'c' }, { session })).rejects.toMatchObject({ code: 263 });
      await session.abortTransaction();
    });
  });

  it('carry out a change of the owning shard, and undo it whole when the new shard has the _id', async () => {
    const items = await collection();
    await items.insertOne({ _id: 1, k: 5, v: 3 });
    await expect(items.updateOne({ _id: 1, k: -1 }, { $set: { k: 7 } })).rejects.toMatchObject({ code: 11000 });
    expect(await items.countDocuments({})).toBe(3);
    expect(await items.findOne({ k: -1 })).toMatchObject({ v: 0 });
    await items.deleteOne({ k: 5 });
    await items.updateOne({ _id: 1, k: -1 }, { $set: { k: 7 } });
    expect((await items.find({}, { sort: { _id: 1 } }).toArray()).map(({ k }) => k)).toEqual([7, 1]);
  });
});
