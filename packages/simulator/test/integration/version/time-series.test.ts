import { type Db, type Document, MaxKey, MinKey, MongoClient, ObjectId, type UUID } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Running {
  readonly client: MongoClient;
  readonly other: MongoClient;
  readonly db: Db;
  readonly shards: MongoClient[];
}

const first = 1_700_000_000_000;
const timeseries = { timeField: 't', metaField: 'm', granularity: 'minutes' };

async function clusterOf(version: ReleaseSeries): Promise<Running> {
  const cluster = await startWholeCluster({ shards: 2, routers: 2, version, balancerRoundMs: 0 });
  closers.push(() => cluster.close());
  const connect = async (connectionString: string): Promise<MongoClient> => {
    const client = await new MongoClient(connectionString).connect();
    closers.push(() => client.close());
    return client;
  };
  const [router, other] = cluster.routers.map((host) => `mongodb://${host}`);
  const client = await connect(router ?? '');
  await client.db('admin').command({ enableSharding: 'iot', primaryShard: 'shard0' });
  return {
    client,
    other: await connect(other ?? ''),
    db: client.db('iot'),
    shards: await Promise.all(cluster.shards.map((host) => connect(`mongodb://${host}/?directConnection=true`))),
  };
}

/** `iot.series`, sharded by metadata and time and split at the metadata 5, the upper half on the other shard. */
async function sharded(version: ReleaseSeries): Promise<Running> {
  const running = await clusterOf(version);
  const admin = running.client.db('admin');
  await admin.command({ shardCollection: 'iot.series', key: { m: 1, t: 1 }, timeseries });
  const buckets = 'iot.system.buckets.series';
  await admin.command({ split: buckets, middle: { meta: 5, 'control.min.t': new MinKey() } });
  const moved = { find: { meta: 7, 'control.min.t': new Date(first) }, to: 'shard1', _waitForDelete: true };
  await admin.command({ moveChunk: buckets, ...moved });
  return running;
}

function measurements(count: number): Document[] {
  return Array.from({ length: count }, (_, n) => ({ t: new Date(first + n * 1000), m: n % 10, v: n }));
}

describe.each(['5.0', '6.0', '7.0', '8.0'] as const)('a sharded time-series collection of %s', (version) => {
  it('is known by its buckets, which lie where their metadata belong', async () => {
    const { client, db, shards } = await sharded(version);
    const config = client.db('config');
    const entry = await config
      .collection<Document & { _id: string }>('collections')
      .findOne({ _id: 'iot.system.buckets.series' });
    expect(entry).toMatchObject({
      key: { meta: 1, 'control.min.t': 1 },
      timeseriesFields: { ...timeseries, bucketMaxSpanSeconds: 86_400 },
    });
    expect(await config.collection('chunks').countDocuments({ uuid: entry?.['uuid'] as UUID })).toBe(2);
    await db.collection('series').insertMany(measurements(40));
    const metas = await Promise.all(
      shards.map((shard) => shard.db('iot').collection('system.buckets.series').distinct('meta')),
    );
    expect(metas).toEqual([
      [0, 1, 2, 3, 4],
      [5, 6, 7, 8, 9],
    ]);
    expect(await db.collection('system.buckets.series').countDocuments()).toBe(10);
    await expect(client.db('admin').command({ split: 'iot.series', middle: { m: 1 } })).rejects.toMatchObject({
      code: 118,
    });
  });

  it('is read, deleted and updated through any router', async () => {
    const { db, other } = await sharded(version);
    const series = other.db('iot').collection('series');
    await series.insertMany(measurements(40), { ordered: false });
    expect(
      await db
        .collection('series')
        .find({ v: { $gte: 35 } })
        .sort({ v: -1 })
        .project({ _id: 0, v: 1 })
        .toArray(),
    ).toEqual([39, 38, 37, 36, 35].map((v) => ({ v })));
    expect(await series.countDocuments({ m: 7 })).toBe(4);
    const [total] = await series.aggregate([{ $group: { _id: null, v: { $sum: '$v' } } }]).toArray();
    expect(total).toEqual({ _id: null, v: 780 });
    expect(await series.deleteMany({ m: { $in: [1, 9] } })).toMatchObject({ deletedCount: 8 });
    if (version === '7.0' || version === '8.0')
      expect(await series.deleteMany({ v: { $lt: 10 } })).toMatchObject({ deletedCount: 8 });
  });

  it('takes buckets by their own name, with whole keys', async () => {
    const { db, shards } = await sharded(version);
    const buckets = db.collection('system.buckets.series');
    const control = { version: 1, min: { t: new Date(first) }, max: { t: new Date(first) } };
    const bucket = { _id: new ObjectId(), control, meta: 8, data: { t: { 0: new Date(first) } } };
    const key = { _id: bucket._id, meta: 8, 'control.min.t': new Date(first) };
    await buckets.replaceOne(key, bucket, { upsert: true, bypassDocumentValidation: true });
    await buckets.replaceOne(key, { ...bucket, control: { ...control, closed: true } });
    expect(await shards[1]?.db('iot').collection('system.buckets.series').countDocuments()).toBe(1);
    expect(await db.collection('series').countDocuments()).toBe(1);
    expect(await buckets.deleteOne(key)).toMatchObject({ deletedCount: 1 });
  });

  it('is read at a time, by its buckets on shards and through routers, and by their UUID', async () => {
    const { db, shards } = await sharded(version);
    const { operationTime } = await db.command({ insert: 'series', documents: measurements(10) });
    await db.collection('series').insertMany(measurements(20));
    const readConcern = { level: 'snapshot', atClusterTime: operationTime as unknown };
    const counts = async (on: Db, find: unknown): Promise<unknown> => {
      const { cursor } = await on.command({ find, readConcern, sort: find === 'series' ? { t: 1 } : { _id: 1 } });
      const { firstBatch } = cursor as { firstBatch: Document[] };
      return firstBatch.length;
    };
    expect(await counts(db, 'system.buckets.series')).toBe(10);
    expect(await counts(db, 'series')).toBe(10);
    const [listed] = await db.listCollections({ name: 'system.buckets.series' }).toArray();
    const { uuid } = (listed as unknown as { info: { uuid: UUID } }).info;
    for (const shard of shards) expect(await counts(shard.db('iot'), uuid)).toBe(5);
  });

  it('has definitions on every shard', async () => {
    const { db, shards } = await sharded(version);
    await db.command({ createIndexes: 'series', indexes: [{ key: { 'm.a': 1 }, name: 'a' }] });
    const names = async (): Promise<unknown[]> =>
      Promise.all(
        shards.map(async (shard) =>
          (await shard.db('iot').collection('system.buckets.series').indexes()).map(({ name }) => name).includes('a'),
        ),
      );
    expect(await names()).toEqual([true, true]);
    expect((await db.collection('series').indexes()).map(({ name }) => name)).toContain('a');
    await db.collection('series').dropIndex('a');
    expect(await names()).toEqual([false, false]);
    await db.command({ collMod: 'series', timeseries: { granularity: 'hours' }, expireAfterSeconds: 60 });
    const listed = await db.listCollections({ name: /series/ }).toArray();
    for (const { options } of listed as unknown as { options: Document }[])
      expect(options).toMatchObject({ expireAfterSeconds: 60, timeseries: { granularity: 'hours' } });
    await db.collection('series').drop();
    for (const shard of shards)
      expect(
        await shard
          .db('iot')
          .listCollections({ name: /buckets/ })
          .toArray(),
      ).toEqual([]);
  });
});

describe('another shard key', () => {
  it('is taken by the fields of measurements, not before 8.0', async () => {
    const { client, db, shards } = await sharded('8.0');
    const admin = client.db('admin');
    await db.collection('series').insertMany(measurements(40));
    await admin.command({ reshardCollection: 'iot.series', key: { m: 1 } });
    const entries = client.db('config').collection('collections');
    expect(await entries.findOne({ _id: /series/ })).toMatchObject({
      key: { meta: 1 },
      timeseriesFields: timeseries,
    });
    await admin.command({ refineCollectionShardKey: 'iot.series', key: { m: 1, t: 1 } });
    expect(await entries.findOne({ _id: /series/ })).toMatchObject({ key: { meta: 1, 'control.min.t': 1 } });
    expect(await db.collection('series').countDocuments()).toBe(40);
    await admin.command({ unshardCollection: 'iot.series', toShard: 'shard1' });
    expect(await shards[1]?.db('iot').collection('system.buckets.series').countDocuments()).toBe(10);
    expect(await db.collection('series').countDocuments()).toBe(40);
    const older = await sharded('7.0');
    const reshard = older.client.db('admin').command({ reshardCollection: 'iot.series', key: { m: 1 } });
    await expect(reshard).rejects.toMatchObject({ code: 238 });
  });
});

describe('streams through routers', () => {
  it('show buckets with their whole keys by flat names, and changes by measurements with _id alone', async () => {
    const { client, db } = await sharded('8.0');
    const stream = client.watch([{ $match: { 'ns.coll': /^system\.buckets\./ } }], {
      showSystemEvents: true,
      showExpandedEvents: true,
      maxAwaitTimeMS: 100,
    } as object);
    closers.push(() => stream.close());
    await stream.tryNext();
    await db.collection('series').insertMany([...measurements(2), { t: new Date(first + 5), m: 7 }]);
    await db.collection('series').insertOne({ t: new Date(first + 6), m: 7 });
    await db.collection('series').deleteMany({ m: 7 });
    const events: Document[] = [];
    while (events.length < 5) events.push(await stream.next());
    expect(events.map(({ operationType }) => operationType as string)).toEqual([
      'insert',
      'insert',
      'insert',
      'update',
      'delete',
    ]);
    for (const { operationType, documentKey } of events)
      expect(Object.keys(documentKey as Document)).toEqual(
        operationType === 'update' ? ['_id'] : ['meta', 'control.min.t', '_id'],
      );
    const whole = db.collection('series').watch();
    closers.push(() => whole.close());
    await expect(whole.tryNext()).rejects.toMatchObject({ code: 166 });
    await expect(
      db.command({
        aggregate: 'system.buckets.series',
        pipeline: [{ $changeStream: { allowToRunOnSystemNS: true } }],
        cursor: {},
      }),
    ).rejects.toMatchObject({ code: 73 });
  });
});

describe('placement', () => {
  it('is by zones whose time is the least one', async () => {
    const { client, db, shards } = await clusterOf('8.0');
    const admin = client.db('admin');
    const buckets = 'iot.system.buckets.series';
    for (const [zone, shard] of [
      ['near', 'shard0'],
      ['far', 'shard1'],
    ])
      await admin.command({ addShardToZone: shard, zone });
    const zone = (min: Document, max: Document, name = 'far') =>
      admin.command({ updateZoneKeyRange: buckets, min, max, zone: name });
    const least = { 'control.min.t': new MinKey() };
    await zone({ meta: new MinKey(), ...least }, { meta: 5, ...least }, 'near');
    await zone({ meta: 5, 'control.min.t': new MinKey() }, { meta: new MaxKey(), 'control.min.t': new MinKey() });
    await admin.command({ shardCollection: 'iot.series', key: { m: 1, t: 1 }, timeseries });
    await db.collection('series').insertMany(measurements(10));
    expect(await shards[1]?.db('iot').collection('system.buckets.series').countDocuments()).toBe(5);
    const now = new Date(first);
    await expect(zone({ meta: 1, 'control.min.t': now }, { meta: 2, 'control.min.t': now })).rejects.toMatchObject({
      code: 72,
    });
    await expect(admin.command({ shardCollection: buckets, key: { meta: 1 } })).rejects.toMatchObject({
      code: 5731501,
    });
    for (const [key, code] of [
      [{ v: 1 }, 5914001],
      [{ t: 1, m: 1 }, 5914000],
      [{ m: 1, t: 'hashed' }, 880031],
      [{ m: 1, t: -1 }, 2],
    ] as const)
      await expect(admin.command({ shardCollection: 'iot.other', key, timeseries })).rejects.toMatchObject({ code });
  });

  it('go by names of whose buckets at most 235 bytes count', async () => {
    const { client } = await clusterOf('8.0');
    const admin = client.db('admin');
    const shard = (bytes: number) => {
      const name = 'x'.repeat(bytes - 'iot.system.buckets.'.length);
      return admin.command({ shardCollection: `iot.${name}`, key: { m: 1 }, timeseries });
    };
    await expect(shard(236)).rejects.toMatchObject({ code: 73 });
    expect(await shard(235)).toMatchObject({ ok: 1 });
  });

  it('of an unsharded one changes with moveCollection, and its view stays', async () => {
    const { client, db, shards } = await clusterOf('8.0');
    const admin = client.db('admin');
    await db.createCollection('series', { timeseries });
    await db.collection('series').insertMany(measurements(10));
    await admin.command({ moveCollection: 'iot.series', toShard: 'shard1' });
    const [entry] = await client
      .db('config')
      .collection('collections')
      .find({ _id: /series/ })
      .toArray();
    expect(entry).toMatchObject({ _id: 'iot.system.buckets.series', unsplittable: true, timeseriesFields: timeseries });
    expect(await shards[1]?.db('iot').collection('system.buckets.series').countDocuments()).toBe(10);
    expect(
      await shards[0]
        ?.db('iot')
        .listCollections({ name: /series/ }, { nameOnly: true })
        .toArray(),
    ).toEqual([{ name: 'series', type: 'timeseries' }]);
    await db.collection('series').insertOne({ t: new Date(first), m: 3, v: 'moved' });
    expect(await db.collection('series').countDocuments({ m: 3 })).toBe(2);
    expect((await db.collection('series').indexes()).map(({ name }) => name)).toEqual(['m_1_t_1']);
    await db.command({ collMod: 'series', expireAfterSeconds: 60 });
    const options = { expireAfterSeconds: 60 };
    expect(await db.listCollections({ name: /series/ }).toArray()).toMatchObject([{ options }, { options }]);
    await db.collection('series').drop();
    expect(
      await client
        .db('config')
        .collection('collections')
        .countDocuments({ _id: /series/ as never }),
    ).toBe(0);
  });

  it('of a database changes with movePrimary, with the view and new UUIDs', async () => {
    const { client, db, shards } = await clusterOf('8.0');
    await db.createCollection('series', { timeseries });
    await db.collection('series').insertMany(measurements(10));
    const uuid = async (): Promise<unknown> => {
      const [listed] = await db.listCollections({ name: 'system.buckets.series' }).toArray();
      return (listed as { info?: { uuid?: UUID } }).info?.uuid?.toString();
    };
    const before = await uuid();
    await client.db('admin').command({ movePrimary: 'iot', to: 'shard1' });
    expect(await uuid()).not.toEqual(before);
    expect(await db.collection('series').countDocuments()).toBe(10);
    expect(await shards[1]?.db('iot').listCollections({ name: 'series' }).toArray()).toHaveLength(1);
  });
});

it('buckets that a chunk takes along are not appended to where they were', async () => {
  const { client, db, shards } = await sharded('8.0');
  await db.collection('series').insertOne({ t: new Date(first), m: 1, v: 1 });
  const move = { moveChunk: 'iot.system.buckets.series', find: { meta: 1, 'control.min.t': new Date(first) } };
  await client.db('admin').command({ ...move, to: 'shard1', _waitForDelete: true });
  await db.collection('series').insertOne({ t: new Date(first), m: 1, v: 2 });
  await client.db('admin').command({ ...move, to: 'shard0', _waitForDelete: true });
  await db.collection('series').insertOne({ t: new Date(first), m: 1, v: 3 });
  expect(await db.collection('series').countDocuments({ m: 1 })).toBe(3);
  expect(await shards[1]?.db('iot').collection('system.buckets.series').countDocuments()).toBe(0);
});
