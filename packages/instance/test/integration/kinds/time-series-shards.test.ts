import { moveQuickly } from '@convoy/testbed/cluster/move-quickly';
import type { Db, Document, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, readsShards } from '../contract/fixture.js';
import { refuses, startBody } from '../contract/start-conditions.js';
import { needs } from '../../../../../e2e/requirements.js';
import { sampled } from '../../../../../test/seed.js';
import { expectEqualSeries, expectGoesOn } from './equal-series.js';
import { setEverywhere, shardsOf } from './shard-servers.js';

const releases = { cluster0: '8.0', cluster1: '8.0' } as const;
const two = { shards: 2 } as const;
const begin_ms = Date.UTC(2026, 0, 1);
const at = (second: number): Date => new Date(begin_ms + second * 1_000);
const timeseries = { timeField: 'at', metaField: 'of' } as const;

/** Measurements whose metadata are objects; some lack a part of them, and some lack all. */
async function measure(db: Db, name: string, from_seconds: number, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n): Document => {
    const of = { id: n % 7, place: { floor: n % 3 } };
    return {
      at: at(from_seconds + n),
      ...(n % 11 === 0 ? {} : n % 5 === 0 ? { of: { id: n % 7 } } : { of }),
      n,
    };
  });
  await db.collection(name).insertMany(rows, { ordered: false });
}

/** The primary shard of a database, and another one. */
async function shardsFor(client: MongoClient, database: string): Promise<[string, string]> {
  const config = client.db('config');
  const row = await config.collection<{ _id: string; primary: string }>('databases').findOne({ _id: database });
  const shards = await config.collection<{ _id: string }>('shards').find().toArray();
  const other = shards.find(({ _id }) => _id !== row?.primary)?._id ?? '';
  return [row?.primary ?? '', other];
}

it.each(sampled([{}, readsShards]))(
  'an unsharded time series away from the primary shard is found there, and followed wherever it moves (%j)',
  { timeout: 300_000, ...needs({ version: [8, 0] }) },
  async (flags) => {
    await using fixture = await Fixture.open(two, two, { ...releases, withUsers: flags === readsShards });
    const { client } = fixture.cluster0;
    await moveQuickly(fixture.cluster0);
    const [plant, admin] = [client.db('plant'), client.db('admin')];
    for (const name of ['away', 'leaving', 'staying']) {
      await plant.createCollection(name, { timeseries, expireAfterSeconds: 1_000_000_000 });
      await measure(plant, name, 0, 100);
    }
    const [primary, other] = await shardsFor(client, 'plant');
    const move = (name: string, toShard: string): Promise<Document> =>
      admin.command({ moveCollection: `plant.${name}`, toShard });
    await move('away', other);
    await measure(plant, 'away', 100, 50);
    await using instance = await fixture.startInstance(flags);
    await instance.accepted('start', startBody({ keepBalancer: false }));
    await instance.untilCanCommit();
    for (const name of ['away', 'leaving', 'staying']) await measure(plant, name, 200, 50);
    await move('leaving', other);
    await move('away', primary);
    for (const name of ['away', 'leaving', 'staying']) await measure(plant, name, 220, 50);
    await plant.collection('away').deleteMany({ 'of.id': 3 });
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant');
    await expectGoesOn(fixture.cluster1.client.db('plant'));
  },
);

const keys: readonly Document[] = [
  { of: 'hashed' },
  { 'of.id': 1, 'of.place.floor': 1 },
  { 'of.id': 'hashed', 'of.place': 1, at: 1 },
  { 'of.place.floor': 1, at: 1 },
];

it.each(sampled(keys))(
  'a time series sharded by %j moves between its shards while it is migrated and measured',
  { timeout: 300_000, ...needs({ version: [8, 0], real: true }) },
  async (key) => {
    await using fixture = await Fixture.open(two, two, releases);
    const { client } = fixture.cluster0;
    const [plant, admin] = [client.db('plant'), client.db('admin')];
    // No chunk may come back before who gave it away has removed what it had.
    await setEverywhere(fixture.cluster0, { orphanCleanupDelaySecs: 1 });
    await plant.createCollection('readings', { timeseries });
    await admin.command({ shardCollection: 'plant.readings', key });
    await measure(plant, 'readings', 0, 300);
    const buckets = 'plant.system.buckets.readings';
    const shards = await fixture.cluster0.shardIds();
    const config = client.db('config');
    const chunks = async (): Promise<Document[]> => {
      const row = await config.collection<{ _id: string; uuid: unknown }>('collections').findOne({ _id: buckets });
      return config.collection('chunks').find({ uuid: row?.uuid }).sort({ min: 1 }).toArray();
    };
    const moveAll = async (): Promise<void> => {
      for (const { min, max, shard } of await chunks())
        await admin.command({ moveChunk: buckets, bounds: [min, max], to: shards.find((each) => each !== shard) });
    };
    const [first] = await chunks();
    await admin.command({ split: buckets, bounds: [first?.['min'], first?.['max']] });
    await using instance = await fixture.startInstance({ sourceAccess: 'router' });
    await instance.accepted('start', startBody({ keepBalancer: true }));
    await moveAll();
    await measure(plant, 'readings', 100, 300);
    await instance.untilCanCommit();
    await moveAll();
    await measure(plant, 'readings', 50, 300);
    await admin.command({ movePrimary: 'plant', to: (await shardsFor(client, 'plant'))[1] });
    await measure(plant, 'readings', 20_000, 30);
    await plant.collection('readings').deleteMany({ 'of.id': 4 });
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant');
    await expectGoesOn(fixture.cluster1.client.db('plant'));
  },
);

it(
  'a time series that is resharded ends the migration by the name of its users',
  { timeout: 300_000, ...needs({ version: [8, 0] }) },
  async () => {
    await using fixture = await Fixture.open(two, two, releases);
    const { client } = fixture.cluster0;
    await moveQuickly(fixture.cluster0);
    await client.db('plant').createCollection('readings', { timeseries });
    await client.db('admin').command({ shardCollection: 'plant.readings', key: { 'of.id': 1 } });
    await measure(client.db('plant'), 'readings', 0, 50);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const key = { 'of.place.floor': 1 };
    await client.db('admin').command({ reshardCollection: 'plant.readings', key, numInitialChunks: 1 });
    await expect
      .poll(async () => (await instance.progressReply()).body, { timeout: 120_000 })
      .toMatchObject({
        error: 'shardKeyChanged',
        errorDescription: expect.stringMatching(/^plant\.readings was resharded/) as unknown,
      });
  },
);

it(
  'what is wrong with a sharded time series is said by the name of its users',
  { timeout: 300_000, ...needs({ version: [7, 0] }) },
  async () => {
    await using fixture = await Fixture.open(two, two, releases);
    const { client } = fixture.cluster0;
    const buckets = 'plant.system.buckets.readings';
    await client.db('plant').createCollection('readings', { timeseries });
    await client.db('admin').command({ shardCollection: 'plant.readings', key: { 'of.id': 1 } });
    await client.db('admin').command({ split: buckets, middle: { 'meta.id': 3 } });
    const [, to] = await shardsFor(client, 'plant');
    await client.db('admin').command({ moveChunk: buckets, find: { 'meta.id': 4 }, to });
    await measure(client.db('plant'), 'readings', 0, 50);
    await using instance = await fixture.startInstance();
    const [ofOneShard] = await shardsOf(fixture.cluster0);
    const byPlace = {
      createIndexes: 'system.buckets.readings',
      indexes: [{ key: { 'meta.place': 1 }, name: 'byPlace' }],
    };
    await ofOneShard?.db('plant').command(byPlace);
    const inconsistent = { status: 422, error: 'inconsistentIndexes' } as const;
    await refuses(fixture, instance, startBody(), { ...inconsistent, says: /byPlace of plant\.readings / });
    await ofOneShard?.db('plant').command({ dropIndexes: 'system.buckets.readings', index: 'byPlace' });
    const there = fixture.cluster1.client.db('admin');
    const [shard = ''] = await fixture.cluster1.shardIds();
    const range = { min: { 'meta.id': 0 }, max: { 'meta.id': 1 } };
    await there.command({ addShardToZone: shard, zone: 'near' });
    await there.command({ updateZoneKeyRange: buckets, ...range, zone: 'near' });
    const refused = { status: 422, error: 'destinationNotEmpty' } as const;
    await refuses(fixture, instance, startBody(), { ...refused, says: /zone ranges for plant\.readings\./ });
    await there.command({ updateZoneKeyRange: buckets, ...range, zone: null });
    await instance.migrate(startBody());
    await expectEqualSeries(fixture, 'plant');
  },
);
