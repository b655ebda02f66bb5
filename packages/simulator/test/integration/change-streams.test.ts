import {
  type ChangeStreamDocument,
  Long,
  MaxKey,
  MinKey,
  MongoClient,
  type MongoServerError,
  type Timestamp,
} from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { type Cluster, type ClusterOptions, startWholeCluster } from '../../src/cluster/cluster.js';

type Event = ChangeStreamDocument & { operationDescription?: Record<string, unknown> };

interface Started {
  readonly cluster: Cluster;
  readonly client: MongoClient;
}

/** An open stream as commands see it. */
interface Opened {
  readonly id: Long;
  readonly ns: string;
}

describe('change streams through a router', () => {
  const started: Started[] = [];

  afterEach(async () => {
    for (const { cluster, client } of started.splice(0)) {
      await client.close();
      await cluster.close();
    }
  });

  async function start(options: Partial<ClusterOptions> = {}): Promise<Started> {
    const cluster = await startWholeCluster({ shards: 2, noopIntervalMs: 20, ...options });
    const made = { cluster, client: await MongoClient.connect(cluster.connectionString) };
    started.push(made);
    return made;
  }

  /** Shards `db.c` by `k`: below 0 on shard0, the rest on shard1. */
  async function shard({ client }: Started): Promise<void> {
    const admin = client.db('admin');
    await admin.command({ enableSharding: 'db', primaryShard: 'shard0' });
    for (const [zone, name] of [
      ['low', 'shard0'],
      ['high', 'shard1'],
    ])
      await admin.command({ addShardToZone: name, zone });
    await admin.command({ updateZoneKeyRange: 'db.c', min: { k: new MinKey() }, max: { k: 0 }, zone: 'low' });
    await admin.command({ updateZoneKeyRange: 'db.c', min: { k: 0 }, max: { k: new MaxKey() }, zone: 'high' });
    await admin.command({ shardCollection: 'db.c', key: { k: 1 } });
  }

  async function open(
    { client }: Started,
    stage: Record<string, unknown>,
    options: Record<string, unknown> = {},
  ): Promise<Opened> {
    const pipeline = [{ $changeStream: { allChangesForCluster: true, ...stage } }];
    const { cursor } = await client.db('admin').command({ aggregate: 1, pipeline, cursor: {}, ...options });
    const opened = cursor as Opened;
    // One time in a thousand an id is small enough for the driver to make a number of it, which is sent back as another
    // type.
    return { ...opened, id: Long.fromValue(opened.id) };
  }

  async function more({ client }: Started, { id, ns }: Opened, maxTimeMS = 200): Promise<Event[]> {
    const { cursor } = await client
      .db('admin')
      .command({ getMore: id, collection: ns.slice(ns.indexOf('.') + 1), maxTimeMS }, { promoteLongs: false });
    return (cursor as { nextBatch: Event[] }).nextBatch;
  }

  async function events(at: Started, opened: Opened, count: number): Promise<Event[]> {
    const found: Event[] = [];
    while (found.length < count) found.push(...(await more(at, opened, 2000)));
    return found;
  }

  async function failure(run: Promise<unknown>): Promise<MongoServerError> {
    return run.then(
      () => Promise.reject(new Error('the command did not fail')),
      (error: unknown) => error as MongoServerError,
    );
  }

  async function now({ client }: Started): Promise<Timestamp> {
    const { operationTime } = await client.db('admin').command({ ping: 1 });
    return operationTime as Timestamp;
  }

  it('show one write of two shards at the same cluster time on both, and resume after either event', async () => {
    // Without a wall clock that goes on, and without no-ops: what happens between the two shards gives them different
    // times.
    const standing = Date.now();
    const at = await start({ now: () => standing, noopIntervalMs: 3_600_000 });
    await shard(at);
    const c = at.client.db('db').collection<{ _id: number; k: number; v?: number }>('c');
    await c.insertMany([-2, -1, 1, 2].map((k) => ({ _id: k, k })));
    const opened = await open(at, {});
    await c.updateMany({}, { $set: { v: 1 } });
    const all = await events(at, opened, 4);
    const times = all.map(({ clusterTime }) => `${clusterTime?.t}.${clusterTime?.i}`);
    expect(new Set(times).size).toBe(2);
    expect(all.map(({ _id }) => (_id as { _data: string })._data)).toEqual(
      all.map(({ _id }) => (_id as { _data: string })._data).sort(),
    );
    for (const [index, event] of all.entries()) {
      const rest =
        index === all.length - 1
          ? []
          : await events(at, await open(at, { resumeAfter: event._id }), all.length - 1 - index);
      expect(rest.map(({ _id }) => _id)).toEqual(all.slice(index + 1).map(({ _id }) => _id));
    }
    const last = all.at(-1)?.clusterTime;
    const read = await at.client
      .db('db')
      .command({ find: 'c', filter: { v: 1 }, readConcern: { level: 'snapshot', atClusterTime: last } });
    expect((read['cursor'] as { firstBatch: unknown[] }).firstBatch).toHaveLength(4);
  });

  it('show the definitions of a sharded collection once where they happen once', async () => {
    const at = await start({ version: '7.0' });
    const opened = await open(at, { showExpandedEvents: true, startAtOperationTime: await now(at) });
    await shard(at);
    await at.client
      .db('db')
      .collection<{ _id: number; k: number }>('c')
      .insertMany([
        { _id: 1, k: -1 },
        { _id: 2, k: 1 },
      ]);
    await at.client.db('db').command({ createIndexes: 'c', indexes: [{ key: { k: 1, x: 1 }, name: 'k_1_x_1' }] });
    await at.client.db('admin').command({ refineCollectionShardKey: 'db.c', key: { k: 1, x: 1 } });
    const found = await events(at, opened, 8);
    expect(found.map(({ operationType }) => operationType).sort()).toEqual(
      [
        'create',
        'createIndexes',
        'shardCollection',
        'insert',
        'insert',
        'createIndexes',
        'createIndexes',
        'refineCollectionShardKey',
      ].sort(),
    );
    expect(found.find(({ operationType }) => operationType === 'shardCollection')?.operationDescription).toEqual({
      shardKey: { k: 1 },
      unique: false,
      numInitialChunks: Long.fromNumber(0),
      presplitHashedZones: false,
    });
    expect(found.at(-1)?.operationDescription).toEqual({ shardKey: { k: 1, x: 1 }, oldShardKey: { k: 1 } });
  });

  it.each([
    ['6.0', 2],
    ['7.0', 1],
  ] as const)('show the rename and drop of a collection of two shards, in %s %i times', async (version, copies) => {
    const at = await start({ version });
    await shard(at);
    const db = at.client.db('db');
    await db.collection<{ _id: number; k: number }>('c').insertMany([
      { _id: 1, k: -1 },
      { _id: 2, k: 1 },
    ]);
    const opened = await open(at, {});
    await db.renameCollection('c', 'd');
    await db.dropCollection('d');
    await db.collection<{ _id: number }>('last').insertOne({ _id: 1 });
    const found = await events(at, opened, 2 * copies + 1);
    const each = (kind: string): string[] => Array.from({ length: copies }, () => kind);
    expect(found.map(({ operationType }) => operationType)).toEqual([...each('rename'), ...each('drop'), 'insert']);
  });

  it('append notes to all shards from 6.0', async () => {
    const at = await start({ version: '6.0' });
    const reply = await at.client.db('admin').command({ appendOplogNote: 1, data: { a: 1 } });
    expect(Object.keys(reply['raw'] as object)).toHaveLength(2);
    const { client } = await start({ version: '5.0' });
    expect(await failure(client.db('admin').command({ appendOplogNote: 1, data: {} }))).toMatchObject({ code: 59 });
  });

  it('continue on a shard that joins', async () => {
    const at = await start();
    const opened = await open(at, {});
    const { connectionString } = await at.cluster.startShard();
    await at.client.db('admin').command({ addShard: connectionString, name: 'late' });
    await at.client.db('admin').command({ enableSharding: 'there', primaryShard: 'late' });
    await at.client.db('there').collection<{ _id: number }>('c').insertOne({ _id: 1 });
    expect((await events(at, opened, 1)).map((event) => 'ns' in event && event.ns)).toEqual([
      { db: 'there', coll: 'c' },
    ]);
  });

  it('say with the first batch that the history is lost, and in a running stream that it was overrun', async () => {
    const at = await start({ oplogBytesMax: 20_000, noopIntervalMs: 10 });
    const from = await now(at);
    const unread = await open(at, { startAtOperationTime: from });
    const running = await open(at, { startAtOperationTime: from });
    await more(at, running);
    const items = at.client.db('db').collection<{ _id: number; pad: string }>('c');
    await items.insertMany(Array.from({ length: 2000 }, (_, _id) => ({ _id, pad: 'x'.repeat(100) })));
    const lost = await failure(more(at, unread));
    expect(lost).toMatchObject({
      code: 286,
      codeName: 'ChangeStreamHistoryLost',
      errorLabels: ['NonResumableChangeStreamError'],
    });
    expect(lost.message).toMatch(
      /^Error on remote shard 127\.0\.0\.1:\d+ :: caused by :: Executor error during getMore/,
    );
    expect(await failure(more(at, running))).toMatchObject({ code: 136 });
    const again = await open(at, { startAtOperationTime: from });
    expect(await failure(more(at, again))).toMatchObject({ code: 286 });
  });

  it.each([
    ['5.0', ['drop', 'insert']],
    ['8.0', ['insert']],
  ] as const)(
    'end with their collection on the first shard that drops it, and resume after: %s',
    async (version, after) => {
      const at = await start({ version });
      await shard(at);
      const db = at.client.db('db');
      const watch = async (stage: Record<string, unknown>): Promise<Opened> =>
        (
          await db.command(
            { aggregate: 'c', pipeline: [{ $changeStream: stage }], cursor: {} },
            { promoteLongs: false },
          )
        )['cursor'] as Opened;
      const read = async ({ id }: Opened): Promise<{ id: Long; nextBatch: Event[] }> =>
        (await db.command({ getMore: id, collection: 'c', maxTimeMS: 1000 }, { promoteLongs: false }))['cursor'] as {
          id: Long;
          nextBatch: Event[];
        };
      const opened = await watch({});
      await db.collection<{ _id: number; k: number }>('c').insertMany([
        { _id: 1, k: -1 },
        { _id: 2, k: 1 },
      ]);
      await db.command({ drop: 'c' });
      await db.collection<{ _id: number }>('c').insertOne({ _id: 3 });
      const found: Event[] = [];
      let id = opened.id;
      while (!Long.fromValue(id).isZero()) {
        const batch = await read(opened);
        found.push(...batch.nextBatch);
        id = batch.id;
      }
      expect(found.map(({ operationType }) => operationType)).toEqual(['insert', 'insert', 'drop', 'invalidate']);
      expect(await failure(read(opened))).toMatchObject({ code: 43 });
      const resumed = await watch({ startAfter: found.at(-1)?._id });
      const rest: Event[] = [];
      while (rest.length < after.length) rest.push(...(await read(resumed)).nextBatch);
      expect(rest.map(({ operationType }) => operationType)).toEqual(after);
    },
  );

  it.each(['5.0', '8.0'] as const)('refuse a token of an event that no shard has: %s', async (version) => {
    const at = await start({ version });
    const opened = await open(at, {});
    const items = at.client.db('db').collection<{ _id: number }>('c');
    await items.insertOne({ _id: 1 });
    const [first] = await events(at, opened, 1);
    const token = (first?._id as { _data: string })._data;
    await items.insertOne({ _id: 2 });
    const resumed = await open(at, { resumeAfter: { _data: token } });
    expect((await events(at, resumed, 1)).map((event) => 'documentKey' in event && event.documentKey)).toEqual([
      { _id: 2 },
    ]);
    const wrong = await open(at, { resumeAfter: { _data: token.replace(/2B02(0+4)$/, '29$1') } });
    expect(await failure(events(at, wrong, 1))).toMatchObject({ code: 280 });
  });
});
