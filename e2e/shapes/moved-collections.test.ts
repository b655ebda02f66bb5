import type { MongoClient, UUID } from 'mongodb';
import { expect, test } from 'vitest';
import { migratorCredentials } from '@convoy/testbed/cluster/access-control';
import { moveQuickly } from '@convoy/testbed/cluster/move-quickly';
import { patience_ms } from '../../test/patience.js';
import { Clusters, defaultStart, untilCanCommit } from '../fleet.js';
import { needs } from '../requirements.js';
import { Workload } from '../workload.js';
import { countOn, onConfigServer, orders, real80, real80Destination, shardOf, twoShards } from './real-shapes.js';

const documents = 100;
/** One for each change that a user makes to a collection off its primary shard. */
const plain = ['written', 'renamed', 'dropped', 'sharded', 'indexed', 'modified', 'replaced', 'emptied', 'returned'];
const all = [...plain, 'ring', 'clustered'];
const overwritten = 'overwritten';

/** Servers refuse to move two collections at once. */
const needsLong = { ...needs(real80), timeout: 600_000 };

interface Item {
  _id: number;
  n: number;
}

const items = (): Item[] => Array.from({ length: documents }, (_, _id) => ({ _id, n: 0 }));

/** Unsharded collections of many kinds in a database whose primary shard is the first. */
async function load(client: MongoClient): Promise<void> {
  await client.db('admin').command({ enableSharding: 'shop', primaryShard: 'shard0' });
  const shop = client.db('shop');
  await shop.createCollection('ring', { capped: true, size: 1_000_000 });
  await shop.createCollection('clustered', { clusteredIndex: { key: { _id: 1 }, unique: true } });
  for (const name of [...all, overwritten]) await shop.collection<Item>(name).insertMany(items());
  await shop.collection('written').createIndexes([{ key: { n: 1, _id: -1 } }]);
}

async function move(client: MongoClient, names: readonly string[], toShard: string): Promise<void> {
  for (const name of names) await client.db('admin').command({ moveCollection: `shop.${name}`, toShard });
}

/** What users do to collections off their primary shard. */
async function change(client: MongoClient): Promise<void> {
  const shop = client.db('shop');
  for (const name of all)
    if (name !== 'dropped')
      await shop.collection<Item>(name).updateMany({ _id: { $lt: documents / 2 } }, { $inc: { n: 1 } });
  await shop.collection('renamed').rename('named');
  await shop.collection('dropped').drop();
  await shop.collection<Item>('dropped').insertOne({ _id: 1, n: 7 });
  await shop.collection('indexed').createIndexes([{ key: { n: -1 }, unique: false }]);
  await shop.command({ collMod: 'modified', validator: { n: { $gte: 0 } } });
  await shop
    .collection('written')
    .aggregate([{ $match: { n: 1 } }, { $out: 'replaced' }])
    .toArray();
  await shop.collection(overwritten).rename('emptied', { dropTarget: true });
  await shop.collection('sharded').createIndexes([{ key: { _id: 'hashed' } }]);
  await client.db('admin').command({ shardCollection: 'shop.sharded', key: { _id: 'hashed' } });
  await move(client, ['returned'], 'shard0');
  await shop.collection<Item>('returned').deleteMany({ _id: { $gte: 90 } });
}

test.each(['direct', 'router'])(
  'collections that lie off their primary shard are migrated, with what users do to them; access %s ' +
    '(real servers from 8.0)',
  needsLong,
  async (sourceAccess) => {
    await using clusters = await Clusters.start(twoShards);
    const { source } = clusters.clients;
    await moveQuickly(clusters.source);
    await load(source);
    await move(source, all, 'shard1');
    for (const name of all) expect([name, await shardOf(source, `shop.${name}`)]).toEqual([name, 'shard1']);
    expect(await countOn(clusters.source, 'shard0', 'shop.written')).toBe(0);
    await using fleet = await clusters.startFleetHere({ sourceAccess });
    await fleet.coordinator.client.start(defaultStart);
    await untilCanCommit(fleet.coordinator.client);
    await change(source);
    await clusters.cutOver(fleet.coordinator.client);
  },
);

test(
  'a database whose collections lie on both shards gets another primary shard (real servers from 8.0)',
  needsLong,
  async () => {
    await using clusters = await Clusters.start(twoShards);
    const { source } = clusters.clients;
    await moveQuickly(clusters.source);
    await load(source);
    await move(source, ['written', 'renamed'], 'shard1');
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'direct' });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await source.db('admin').command({ movePrimary: 'shop', to: 'shard1' });
    await source
      .db('shop')
      .collection<Item>('written')
      .updateMany({}, { $inc: { n: 1 } });
    await source
      .db('shop')
      .collection<Item>('indexed')
      .updateMany({}, { $inc: { n: 1 } });
    await clusters.cutOver(instance.client);
  },
);

test.each([
  ['another key', { reshardCollection: 'shop.orders', key: { n: 1, _id: 1 }, numInitialChunks: 2 }],
  ['the same key', { reshardCollection: 'shop.orders', key: { n: 1 }, forceRedistribution: true, numInitialChunks: 2 }],
  ['no key', { unshardCollection: 'shop.orders', toShard: 'shard1' }],
])(
  'a sharded collection that gets %s while changes are applied ends the migration by name (real servers from 8.0)',
  needsLong,
  async (_what, command) => {
    await using clusters = await Clusters.start(twoShards);
    const { source } = clusters.clients;
    await moveQuickly(clusters.source);
    await load(source);
    await source.db('shop').createCollection('orders');
    await source.db('admin').command({ shardCollection: 'shop.orders', key: { n: 1 } });
    await source.db('shop').collection<Item>('orders').insertMany(items());
    await source
      .db('shop')
      .collection('orders')
      .createIndexes([{ key: { n: 1, _id: 1 } }]);
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'direct' });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await source.db('admin').command(command);
    await expect
      .poll(() => instance.client.progress().catch((error: unknown) => error), { timeout: patience_ms() })
      .toMatchObject({
        error: 'shardKeyChanged',
        errorDescription: expect.stringContaining('shop.orders') as unknown,
      });
  },
);

test.each(['before', 'during', 'on the former source before'])(
  'a collection of the destination that moves %s the reverse gets back with all changes (real servers from 8.0)',
  needsLong,
  async (when) => {
    await using clusters = await Clusters.start({ ...twoShards, withUsers: true });
    const { source, destination } = clusters.clients;
    await moveQuickly(clusters.destination);
    await moveQuickly(clusters.source);
    await source.db('admin').command({ enableSharding: 'shop', primaryShard: 'shard0' });
    for (const name of ['moved', 'plain']) await source.db('shop').collection<Item>(name).insertMany(items());
    const shards = { cluster0: migratorCredentials, cluster1: migratorCredentials };
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'direct', shards });
    const { client } = instance;
    await client.start({ ...defaultStart, enableUserWriteBlocking: true, reversible: true });
    await clusters.cutOver(client);
    const write = (from: number): Promise<unknown> =>
      Promise.all(
        ['moved', 'plain'].map((name) =>
          clusters.shoppers.destination
            .db('shop')
            .collection<Item>(name)
            .updateMany({ _id: { $gte: from, $lt: from + 30 } }, { $inc: { n: 1 } }),
        ),
      );
    const databases = destination.db('config').collection<{ _id: string; primary: string }>('databases');
    const toShard = (await databases.findOne({ _id: 'shop' }))?.primary === 'shard0' ? 'shard1' : 'shard0';
    await write(0);
    if (when === 'before') await move(destination, ['moved'], toShard);
    if (when === 'on the former source before') await move(source, ['moved'], 'shard1');
    await write(20);
    await client.reverse();
    await untilCanCommit(client);
    if (when === 'during') await move(destination, ['moved'], toShard);
    await write(40);
    await clusters.cutOver(client);
    if (when === 'on the former source before') expect(await shardOf(source, 'shop.moved')).toBe('shard1');
    else expect(await shardOf(destination, 'shop.moved')).toBe(toShard);
    expect(await source.db('shop').collection<Item>('moved').countDocuments({ n: 2 })).toBe(20);
  },
);

test(
  'collections of the destination that move while changes are applied get all of them ' +
    '(real servers, a destination from 8.0)',
  { ...needs(real80Destination), timeout: needsLong.timeout },
  async () => {
    await using clusters = await Clusters.loaded(twoShards, orders);
    const { source, destination } = clusters.clients;
    await moveQuickly(clusters.destination);
    await source.db('admin').command({ enableSharding: 'shop', primaryShard: 'shard0' });
    const shop = source.db('shop');
    for (const name of ['written', 'renewed']) await shop.collection<Item>(name).insertMany(items());
    await using fleet = await clusters.startFleetHere({ sourceAccess: 'direct' });
    await fleet.coordinator.client.start(defaultStart);
    await untilCanCommit(fleet.coordinator.client);
    const databases = destination.db('config').collection<{ _id: string; primary: string }>('databases');
    const toShard = (await databases.findOne({ _id: 'shop' }))?.primary === 'shard0' ? 'shard1' : 'shard0';
    await using workload = Workload.start(source, orders);
    await move(destination, ['written', 'renewed'], toShard);
    await shop.collection<Item>('written').updateMany({ _id: { $lt: 50 } }, { $inc: { n: 1 } });
    await shop.collection<Item>('written').createIndexes([{ key: { n: 1 } }]);
    await shop.collection('renewed').drop();
    await shop.collection<Item>('renewed').insertMany(items().slice(1));
    await clusters.cutOver(fleet.coordinator.client, workload);
  },
);

test(
  'somebody moves a collection of the destination and renames it on the source: the commit opens nothing, by name ' +
    '(real servers, a destination from 8.0)',
  { ...needs(real80Destination), timeout: needsLong.timeout },
  async () => {
    await using clusters = await Clusters.start(twoShards);
    const { source, destination } = clusters.clients;
    await moveQuickly(clusters.destination);
    await source.db('admin').command({ enableSharding: 'shop', primaryShard: 'shard0' });
    const shop = source.db('shop');
    for (const name of ['moved', 'plain']) await shop.collection<Item>(name).insertMany(items());
    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'direct' });
    await instance.client.start(defaultStart);
    await untilCanCommit(instance.client);
    await move(destination, ['moved'], 'shard0');
    await move(destination, ['moved'], 'shard1');
    await shop.collection<Item>('moved').updateMany({ _id: { $lt: 50 } }, { $inc: { n: 1 } });
    await shop.collection<Item>('moved').createIndexes([{ key: { n: 1 } }]);
    await shop.collection<Item>('moved').rename('named');
    await expect(clusters.cutOver(instance.client)).rejects.toMatchObject({
      error: 'catalogDiffers',
      errorDescription: expect.stringContaining('extra shop.moved') as unknown,
    });
  },
);

/** The UUIDs of unsharded collections: a collection that moves gets another. */
async function uuidsOf(client: MongoClient): Promise<Map<string, string>> {
  const listed = await client
    .db('shop')
    .listCollections<{ name: string; info: { uuid?: UUID } }>({}, { nameOnly: false })
    .toArray();
  return new Map(listed.map(({ name, info }) => [name, String(info.uuid)]));
}

test.each([true, false])(
  'a source whose balancer moves unsharded collections is migrated; keepBalancer %s (real servers from 8.0)',
  needsLong,
  async (keepBalancer) => {
    await using clusters = await Clusters.start(twoShards);
    const { source } = clusters.clients;
    await moveQuickly(clusters.source);
    await load(source);
    // Servers of 8.0 balance unsharded collections only so.
    const balancing = { configureFailPoint: 'balancerShouldReturnRandomMigrations' };
    await onConfigServer(clusters.source, { setParameter: 1, balancerMigrationsThrottlingMs: 0 });
    await onConfigServer(clusters.source, { ...balancing, mode: 'alwaysOn' });
    await source.db('admin').command({ balancerStart: 1 });
    const before = await uuidsOf(source);
    const moved = async (since: ReadonlyMap<string, string>): Promise<number> =>
      [...(await uuidsOf(source))].filter(([name, uuid]) => since.get(name) !== uuid).length;
    await expect.poll(() => moved(before), { timeout: patience_ms() }).toBeGreaterThan(0);

    await using instance = await clusters.startLoneInstanceHere({ sourceAccess: 'router' });
    await instance.client.start({ ...defaultStart, ...(keepBalancer && { keepBalancer }) });
    const started = await uuidsOf(source);
    if (keepBalancer) await expect.poll(() => moved(started), { timeout: patience_ms() }).toBeGreaterThan(2);
    for (const name of ['written', 'indexed'])
      await source
        .db('shop')
        .collection<Item>(name)
        .updateMany({}, { $inc: { n: 1 } });
    if (keepBalancer) await onConfigServer(clusters.source, { ...balancing, mode: 'off' });
    await clusters.cutOver(instance.client);
    expect((await source.db('admin').command({ balancerStatus: 1 }))['mode']).toBe('full');
  },
);
