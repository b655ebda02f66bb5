import { type ClientSession, type Collection, MongoClient, type MongoServerError } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, startWholeCluster } from '../../src/cluster/cluster.js';
import { testSeed } from '../../../../test/seed.js';
import { seededRandom } from './seeded-random.js';

interface Item {
  _id: number;
  k: number;
  v: number;
}

const steps = 250;
const keys = 60;
/** Not divisible by 7, so that keys are unique. */
const documentsOfLoad = 400;
const chunkBounds = [-20, -10, 0, 10, 20];

describe('two routers with tables of their own', () => {
  let cluster: Cluster;
  let routers: MongoClient[];

  beforeAll(async () => {
    cluster = await startWholeCluster({ shards: 3, routers: 2, noopIntervalMs: 50, balancerRoundMs: 0 });
    routers = await Promise.all(cluster.routers.map((host) => MongoClient.connect(`mongodb://${host}`)));
  });

  afterAll(async () => {
    await Promise.all(routers.map((each) => each.close()));
    await cluster.close();
  });

  it('show what a model shows, whatever moves in between', async () => {
    const random = seededRandom(testSeed);
    const below = (limit: number): number => Math.floor(random() * limit);
    const router = (): MongoClient => routers[below(routers.length)] as MongoClient;
    const items = () => router().db('db').collection<Item>('c');
    const admin = (routers[0] as MongoClient).db('admin');
    await admin.command({ enableSharding: 'db', primaryShard: 'shard0' });
    await admin.command({ shardCollection: 'db.c', key: { k: 1 } });
    for (const k of chunkBounds) await admin.command({ split: 'db.c', middle: { k } });
    const model = new Map<number, Item>();
    const key = (): number => below(keys) - keys / 2;
    const actions: (() => Promise<void>)[] = [
      async () => {
        const documents = Array.from({ length: 5 }, () => key())
          .filter((k, at, all) => !model.has(k) && all.indexOf(k) === at)
          .map((k) => ({ _id: k, k, v: 0 }));
        if (documents.length === 0) return;
        await items().insertMany(documents, { ordered: below(2) === 0 });
        for (const document of documents) model.set(document.k, document);
      },
      async () => {
        const k = key();
        await items().updateOne({ k }, { $inc: { v: 1 } });
        const present = model.get(k);
        if (present !== undefined) model.set(k, { ...present, v: present.v + 1 });
      },
      async () => {
        const k = key();
        await items().deleteOne({ k });
        model.delete(k);
      },
      async () => {
        const limit = key();
        await items().updateMany({ k: { $gte: limit } }, { $inc: { v: 1 } });
        for (const [k, present] of model) if (k >= limit) model.set(k, { ...present, v: present.v + 1 });
      },
      async () => {
        const k = key();
        await items().findOneAndUpdate({ k }, { $set: { v: k } });
        const present = model.get(k);
        if (present !== undefined) model.set(k, { ...present, v: k });
      },
      async () => {
        await router()
          .db('admin')
          .command({ moveChunk: 'db.c', find: { k: key() }, to: `shard${below(3)}`, _waitForDelete: below(2) === 0 });
      },
    ];
    for (let step = 0; step < steps; step += 1) {
      await (actions[below(actions.length)] as () => Promise<void>)();
      if (step % 10 !== 0) continue;
      const expected = [...model.values()].sort((a, b) => a.k - b.k);
      const message = `seed ${testSeed}, step ${step}`;
      expect(
        await items()
          .find({}, { sort: { k: 1 }, batchSize: 7 })
          .toArray(),
        message,
      ).toEqual(expected);
      expect(await items().countDocuments({ v: 0 }), message).toBe(expected.filter(({ v }) => v === 0).length);
    }
  });

  it('report an update that moves its document where they know nothing of a move, and know it afterwards', async () => {
    const [fresh, stale] = routers.map((router) => router.db('db').collection<Item>('moving'));
    if (fresh === undefined || stale === undefined) throw new Error('There must be two routers.');
    const admin = (routers[0] as MongoClient).db('admin');
    await admin.command({ enableSharding: 'db' });
    await admin.command({ shardCollection: 'db.moving', key: { k: 1 } });
    await admin.command({ split: 'db.moving', middle: { k: 0 } });
    await admin.command({ moveChunk: 'db.moving', find: { k: 5 }, to: 'shard0' });
    await admin.command({ moveChunk: 'db.moving', find: { k: -5 }, to: 'shard1' });
    await stale.insertMany([
      { _id: 1, k: 5, v: 0 },
      { _id: 2, k: -5, v: 0 },
    ]);
    await admin.command({ moveChunk: 'db.moving', find: { k: -5 }, to: 'shard2' });
    const move = () => stale.updateOne({ _id: 1, k: 5 }, { $set: { k: -7 } });
    await expect(move()).rejects.toMatchObject({
      code: 13388,
      message: expect.stringContaining('converted into a distributed transaction') as string,
    });
    expect(await move()).toMatchObject({ modifiedCount: 1 });
    expect(await fresh.find({}, { sort: { _id: 1 } }).toArray()).toEqual([
      { _id: 1, k: -7, v: 0 },
      { _id: 2, k: -5, v: 0 },
    ]);
  });

  it.each<[string, (items: Collection<Item>, session: ClientSession) => Promise<unknown>, Item[]]>([
    [
      'an update of several shards',
      (items, session) => items.updateMany({ _id: { $gte: 0 } }, { $inc: { v: 1 } }, { session }),
      [
        { _id: 1, k: 5, v: 1 },
        { _id: 2, k: -5, v: 1 },
      ],
    ],
    [
      'an update that moves its document',
      (items, session) => items.updateOne({ _id: 1, k: 5 }, { $set: { k: -7 } }, { session }),
      [
        { _id: 1, k: -7, v: 0 },
        { _id: 2, k: -5, v: 0 },
      ],
    ],
  ])('end a transaction whose routing is stale, on all shards: %s', async (name, write, after) => {
    const [fresh, stale] = routers as [MongoClient, MongoClient];
    const coll = name.replaceAll(' ', '_');
    const admin = fresh.db('admin');
    await admin.command({ enableSharding: 'db' });
    await admin.command({ shardCollection: `db.${coll}`, key: { k: 1 } });
    await admin.command({ split: `db.${coll}`, middle: { k: 0 } });
    await admin.command({ moveChunk: `db.${coll}`, find: { k: 5 }, to: 'shard0' });
    await admin.command({ moveChunk: `db.${coll}`, find: { k: -5 }, to: 'shard1' });
    const items = stale.db('db').collection<Item>(coll);
    const before = [
      { _id: 1, k: 5, v: 0 },
      { _id: 2, k: -5, v: 0 },
    ];
    await items.insertMany(before);
    await admin.command({ moveChunk: `db.${coll}`, find: { k: -5 }, to: 'shard2' });
    await using session = stale.startSession();
    session.startTransaction();
    const error: unknown = await write(items, session).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 13_388 });
    expect((error as MongoServerError).hasErrorLabel('TransientTransactionError')).toBe(true);
    await expect(session.commitTransaction()).rejects.toMatchObject({ code: 251 });
    const contents = () =>
      fresh
        .db('db')
        .collection<Item>(coll)
        .find({}, { sort: { _id: 1 } })
        .toArray();
    expect(await contents()).toEqual(before);
    session.startTransaction();
    await write(items, session);
    await session.commitTransaction();
    expect(await contents()).toEqual(after);
  });

  it('keep every write of both while chunks move at the same time', async () => {
    const collection = (at: number) => (routers[at] as MongoClient).db('db').collection<Item>('busy');
    const admin = (routers[0] as MongoClient).db('admin');
    await admin.command({ enableSharding: 'db' });
    await admin.command({ shardCollection: 'db.busy', key: { k: 1 } });
    for (const k of [100, 200, 300]) await admin.command({ split: 'db.busy', middle: { k } });
    let done = false;
    const writer = async (at: number): Promise<void> => {
      for (let n = at; n < documentsOfLoad; n += 2 * 20) {
        const documents = Array.from({ length: 20 }, (_, step) => ({
          _id: n + 2 * step,
          k: ((n + 2 * step) * 7) % documentsOfLoad,
          v: 0,
        })).filter(({ _id }) => _id < documentsOfLoad);
        await collection(at).insertMany(documents, { ordered: at === 0 });
        for (const { k } of documents) await collection(1 - at).updateOne({ k }, { $inc: { v: 1 } });
      }
    };
    const mover = async (): Promise<void> => {
      for (let move = 0; !done; move += 1) {
        await admin.command({
          moveChunk: 'db.busy',
          find: { k: (move * 100) % documentsOfLoad },
          to: `shard${move % 3}`,
          _waitForDelete: true,
        });
      }
    };
    const moving = mover();
    await Promise.all([writer(0), writer(1)]);
    done = true;
    await moving;
    const stored = await collection(0)
      .find({}, { sort: { _id: 1 } })
      .toArray();
    expect(stored.map(({ _id }) => _id)).toEqual(Array.from({ length: documentsOfLoad }, (_, n) => n));
    expect(stored.every(({ v }) => v === 1)).toBe(true);
  });
});
