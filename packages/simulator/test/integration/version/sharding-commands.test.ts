import { type ChangeStream, type Document, MongoClient, Timestamp, UUID } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { startWholeCluster } from '../../../src/cluster/cluster.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Running {
  readonly client: MongoClient;
  readonly admin: ReturnType<MongoClient['db']>;
  readonly shards: MongoClient[];
}

/** A cluster with `shop.orders`, 100 documents, sharded by a range of `n` and split in the middle. */
async function clusterOf(version: ReleaseSeries): Promise<Running> {
  const cluster = await startWholeCluster({ shards: 2, version, balancerRoundMs: 0 });
  closers.push(() => cluster.close());
  const connect = async (connectionString: string): Promise<MongoClient> => {
    const client = await new MongoClient(connectionString).connect();
    closers.push(() => client.close());
    return client;
  };
  const client = await connect(cluster.connectionString);
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop' });
  await admin.command({ shardCollection: 'shop.orders', key: { n: 1 } });
  await admin.command({ split: 'shop.orders', middle: { n: 50 } });
  const documents = Array.from({ length: 100 }, (_, n) => ({ n, customer: n % 10 }));
  await client.db('shop').collection('orders').insertMany(documents);
  return {
    client,
    admin,
    shards: await Promise.all(cluster.shards.map((host) => connect(`mongodb://${host}/?directConnection=true`))),
  };
}

function config(client: MongoClient, collection: string): Promise<Document[]> {
  return client.db('config').collection(collection).find().toArray();
}

describe('reshardCollection', () => {
  it.each([
    ['5.0', { customer: 'hashed' }],
    ['6.0', { customer: 1 }],
    ['8.0', { customer: 1, n: 1 }],
  ] as const)('gives a collection of %s another shard key and UUID', async (version, key) => {
    const { client, admin, shards } = await clusterOf(version);
    const [before] = await config(client, 'collections');
    const stream = client.db('shop').collection('orders').watch([], { maxAwaitTimeMS: 100 });
    closers.push(() => stream.close());
    await stream.tryNext();
    await admin.command({ reshardCollection: 'shop.orders', key, numInitialChunks: 4 });
    const [after] = await config(client, 'collections');
    expect(after).toMatchObject({ _id: 'shop.orders', key, unique: false });
    expect((after?.uuid as UUID).equals(before?.uuid as UUID)).toBe(false);
    const chunks = await config(client, 'chunks');
    expect(chunks.every((chunk) => (chunk.uuid as UUID).equals(after?.uuid as UUID))).toBe(true);
    expect(new Set(chunks.map((chunk) => chunk.shard as string)).size).toBe(2);
    const orders = client.db('shop').collection('orders');
    expect(await orders.countDocuments()).toBe(100);
    expect(await orders.countDocuments({ customer: 3 })).toBe(10);
    const counts = await Promise.all(shards.map((shard) => shard.db('shop').collection('orders').countDocuments()));
    expect(counts.reduce((sum, count) => sum + count)).toBe(100);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(
      await shards[0]
        ?.db('shop')
        .listCollections({ name: /resharding/ })
        .toArray(),
    ).toEqual([]);
    expect((await orders.indexes()).some((index) => JSON.stringify(index.key) === JSON.stringify(key))).toBe(true);
    await orders.insertOne({ n: 1000, customer: 99 });
    expect(await stream.next()).toMatchObject({ operationType: 'insert', fullDocument: { n: 1000 } });
  });

  it('does nothing for the key that is there, and is unknown to 4.4', async () => {
    const { client, admin } = await clusterOf('5.0');
    const [before] = await config(client, 'collections');
    await admin.command({ reshardCollection: 'shop.orders', key: { n: 1 } });
    expect((await config(client, 'collections'))[0]?.uuid).toEqual(before?.uuid);
    await expect(admin.command({ reshardCollection: 'shop.missing', key: { n: 1 } })).rejects.toMatchObject({
      code: 118,
    });
    await expect(
      admin.command({ reshardCollection: 'shop.orders', key: { x: 1 }, forceRedistribution: true }),
    ).rejects.toMatchObject({ code: 40415 });
    const old = await clusterOf('4.4');
    await expect(old.admin.command({ reshardCollection: 'shop.orders', key: { customer: 1 } })).rejects.toMatchObject({
      code: 59,
    });
  });
});

describe('balancing settings and reports', () => {
  it('keeps the chunk size and the AutoMerger of a sharded collection', async () => {
    const { admin, client } = await clusterOf('8.0');
    const entry = () =>
      client.db('config').collection<Document & { _id: string }>('collections').findOne({ _id: 'shop.orders' });
    const configure = (settings: object) => admin.command({ configureCollectionBalancing: 'shop.orders', ...settings });
    await configure({ chunkSize: 32, enableAutoMerger: false });
    const configured = await entry();
    expect(Number(configured?.['maxChunkSizeBytes'])).toBe(32 * 2 ** 20);
    expect(configured?.['enableAutoMerge']).toBe(false);
    await configure({ chunkSize: 0 });
    expect(await entry()).not.toHaveProperty('maxChunkSizeBytes');
    expect(await entry()).toMatchObject({ enableAutoMerge: false });
    await expect(configure({ defragmentCollection: true })).rejects.toMatchObject({ code: 115 });
    await expect(admin.command({ configureCollectionBalancing: 'shop.none' })).rejects.toMatchObject({ code: 118 });
  });

  it('refuses by name what is not simulated, and does not know it in releases before it', async () => {
    const { admin } = await clusterOf('8.0');
    for (const name of ['abortMoveCollection', 'mergeAllChunksOnShard', 'moveRange'])
      await expect(admin.command({ [name]: 'shop.items' })).rejects.toMatchObject({
        code: 115,
        message: `${name} is not part of this simulation`,
      });
    await expect(admin.aggregate([{ $shardedDataDistribution: {} }]).toArray()).rejects.toMatchObject({ code: 115 });
    const old = await clusterOf('7.0');
    await expect(old.admin.command({ moveCollection: 'shop.items', toShard: 'shard1' })).rejects.toMatchObject({
      code: 59,
    });
    await expect(old.admin.command({ analyzeShardKey: 'shop.orders', key: { n: 1 } })).rejects.toMatchObject({
      code: 115,
    });
  });
});

describe('moveCollection', () => {
  const uuidOf = async (client: MongoClient, name: string): Promise<unknown> =>
    (await client.db('shop').listCollections({ name }).toArray()).map(
      (one) => (one as { info?: { uuid?: unknown } }).info?.uuid,
    );

  it('gives an unsharded collection another shard and UUID from 8.0 on, which streams show once', async () => {
    const { admin, client } = await clusterOf('8.0');
    const items = client.db('shop').collection<{ _id: number; n?: number }>('items');
    await items.insertMany([{ _id: 1 }, { _id: 2 }]);
    await items.createIndexes([{ key: { n: 1 }, name: 'n_1' }]);
    await items.insertOne({ _id: 3 });
    const before = await uuidOf(client, 'items');
    const { operationTime } = (await admin.command({ ping: 1 })) as { operationTime: Timestamp };
    const stream = client.watch([], {
      showExpandedEvents: true,
      startAtOperationTime: new Timestamp({ t: operationTime.t, i: operationTime.i + 1 }),
    });
    closers.push(() => stream.close());
    const other =
      (await client.db('config').collection<{ _id: string; primary: string }>('databases').findOne({ _id: 'shop' }))
        ?.primary === 'shard1'
        ? 'shard0'
        : 'shard1';
    await admin.command({ moveCollection: 'shop.items', toShard: other });
    const after = await uuidOf(client, 'items');
    expect(after).not.toEqual(before);
    expect(await items.countDocuments()).toBe(3);
    expect((await items.indexes()).map(({ name }) => name)).toEqual(['_id_', 'n_1']);
    await items.updateOne({ _id: 1 }, { $set: { n: 1 } });
    const shown: string[] = [];
    for (let event = await stream.next(); ; event = await stream.next()) {
      if ('ns' in event && 'coll' in event.ns && event.ns.coll === 'items') shown.push(event.operationType);
      if (event.operationType === 'update') break;
    }
    expect(shown).toEqual(['reshardCollection', 'update']);
    expect((await config(client, 'collections')).find(({ _id }) => (_id as unknown) === 'shop.items')).toMatchObject({
      unsplittable: true,
      key: { _id: 1 },
    });
    await expect(admin.command({ split: 'shop.items', middle: { _id: 1 } })).rejects.toMatchObject({ code: 118 });
    await items.rename('renamed');
    expect(await client.db('shop').collection('renamed').countDocuments()).toBe(3);
    await admin.command({ movePrimary: 'shop', to: other });
    expect(await client.db('shop').collection('renamed').countDocuments()).toBe(3);
    await client.db('shop').collection('renamed').drop();
    expect(await uuidOf(client, 'renamed')).toEqual([]);
    expect(await config(client, 'collections')).not.toContainEqual(expect.objectContaining({ unsplittable: true }));
  });

  it('unshardCollection makes a sharded one unsharded', async () => {
    const { admin, client } = await clusterOf('8.0');
    const orders = client.db('shop').collection<{ _id: number; n: number }>('orders');
    await orders.deleteMany({});
    await orders.insertMany(Array.from({ length: 50 }, (_, _id) => ({ _id, n: _id })));
    await admin.command({ unshardCollection: 'shop.orders', toShard: 'shard1' });
    expect(await orders.countDocuments()).toBe(50);
    expect(await config(client, 'collections')).toMatchObject([{ _id: 'shop.orders', unsplittable: true }]);
    expect(await config(client, 'chunks')).toMatchObject([{ shard: 'shard1' }]);
    await expect(admin.command({ unshardCollection: 'shop.orders' })).rejects.toMatchObject({ code: 118 });
  });
});

describe('renameCollection', () => {
  it('leaves sharded collections alone in 4.4', async () => {
    const { client } = await clusterOf('4.4');
    await expect(client.db('shop').collection('orders').rename('renamed')).rejects.toMatchObject({ code: 13138 });
    await client.db('shop').createCollection('items');
    await expect(client.db('shop').collection('items').rename('orders', { dropTarget: true })).rejects.toMatchObject({
      code: 13139,
    });
  });

  it.each([
    ['5.0', 5807601],
    ['6.0', 48],
  ] as const)(
    'says in %s by code %i that the target is there, and always by 48 that it is sharded',
    async (version, code) => {
      const { client } = await clusterOf(version);
      const shop = client.db('shop');
      for (const name of ['items', 'others']) await shop.createCollection(name);
      await expect(shop.collection('items').rename('others')).rejects.toMatchObject({ code });
      await expect(shop.collection('items').rename('orders')).rejects.toMatchObject({ code: 48 });
    },
  );
});

describe('a find that says by collectionUUID which collection it means', () => {
  it('is answered through a router for that one only, since 6.0', async () => {
    const { client } = await clusterOf('6.0');
    const shop = client.db('shop');
    await shop.collection('notes').insertOne({});
    const listed = await shop.listCollections<{ name: string; info: { uuid: UUID } }>().toArray();
    const uuids = ['orders', 'notes'].map((wanted) => listed.find(({ name }) => name === wanted)?.info.uuid);
    for (const [index, find] of ['orders', 'notes'].entries()) {
      await expect(shop.command({ find, collectionUUID: uuids[index] })).resolves.toMatchObject({ ok: 1 });
      await expect(shop.command({ find, collectionUUID: uuids[1 - index] })).rejects.toMatchObject({
        code: 361,
        codeName: 'CollectionUUIDMismatch',
      });
    }
    for (const db of ['shop', 'gone']) {
      await expect(client.db(db).command({ find: 'gone', collectionUUID: uuids[0] })).rejects.toMatchObject({
        code: 361,
      });
    }
  });
});

describe('movePrimary', () => {
  it('drops on the donor after it created on the recipient, however far their clocks are apart', async () => {
    const { client, admin, shards } = await clusterOf('6.0');
    await client.db('stock').collection('parts').insertOne({ name: 'bolt' });
    const databases = await config(client, 'databases');
    const primary = databases.find(({ _id }) => _id === 'stock')?.primary as string;
    const to = primary.endsWith('0') ? 1 : 0;
    const [donor, recipient] = [shards[1 - to], shards[to]];
    const open = (shard: MongoClient | undefined): ChangeStream => {
      const stream = shard?.db('stock').watch([], { showExpandedEvents: true, maxAwaitTimeMS: 100 });
      if (stream === undefined) throw new Error('no such shard');
      closers.push(() => stream.close());
      return stream;
    };
    const [drops, creations] = [open(donor), open(recipient)];
    for (const stream of [drops, creations]) await stream.tryNext();
    const busy = Array.from({ length: 500 }, (_, n) => ({ n }));
    await recipient?.db('local_writes').collection('many').insertMany(busy);
    await admin.command({ movePrimary: 'stock', to: `shard${to}` });
    const created = await creations.next();
    const dropped = await drops.next();
    expect([created.operationType, dropped.operationType]).toEqual(['create', 'drop']);
    expect((dropped.clusterTime as Timestamp).greaterThan(created.clusterTime as Timestamp)).toBe(true);
  });
});
