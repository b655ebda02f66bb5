import { type Db, type Document, ObjectId } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, readsShards, type Shape, type Side } from '../contract/fixture.js';
import { refuses, startBody } from '../contract/start-conditions.js';
import { bucketsOf } from './equal-series.js';
import { sampled } from '../../../../../test/seed.js';
import { needs } from '../../../../../e2e/requirements.js';

const releases = { cluster0: '8.0', cluster1: '8.0' } as const;
const begin_ms = Date.UTC(2026, 0, 1);
const at = (second: number): Date => new Date(begin_ms + second * 1_000);
const sensors = 10;
/** Of a time series whose measurements are old: servers delete none of them. */
const longAge_seconds = 1_000_000_000;

/** Measurements of some sensors expire, long after the test (servers from 6.3). */
const expiring = {
  key: { at: 1 },
  name: 'expiring',
  expireAfterSeconds: longAge_seconds,
  partialFilterExpression: { sensor: { $gte: 5 } },
};

async function indexes(db: Db, name = 'readings'): Promise<Document[]> {
  const listed = (await db.collection(name).listIndexes().toArray()) as Document[];
  return listed.sort((a, b) => (a['name'] < b['name'] ? -1 : 1));
}

/** One measurement of each sensor for each second. */
async function measure(db: Db, from_seconds: number, to_seconds: number): Promise<void> {
  for (let second = from_seconds; second < to_seconds; second += 1)
    await db
      .collection('readings')
      .insertMany(Array.from({ length: sensors }, (_, sensor) => ({ at: at(second), sensor, value: second + sensor })));
}

const measurements = (db: Db, name: string): Promise<Document[]> =>
  db
    .collection(name)
    .find({}, { projection: { _id: 0 } })
    .sort({ at: 1, when: 1, sensor: 1, n: 1 })
    .toArray();

async function definitions(db: Db): Promise<unknown[]> {
  const listed = await db.listCollections<{ name: string; type: string; options: Document }>().toArray();
  const shown = listed.filter(({ name }) => name !== 'system.views' && name !== 'system.buckets.readings');
  return shown.map(({ name, type, options }) => ({ name, type, options })).sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Expects the same measurements, and the same buckets to the byte. */
async function expectEqual({ cluster0, cluster1 }: Fixture, names: readonly string[]): Promise<void> {
  const [source, destination] = [cluster0.client.db('plant'), cluster1.client.db('plant')];
  for (const name of names) {
    expect(await measurements(destination, name)).toEqual(await measurements(source, name));
    expect(await bucketsOf(destination, name)).toEqual(await bucketsOf(source, name));
    expect((await bucketsOf(destination, name)).length).toBeGreaterThan(0);
  }
}

/** Shards the readings, with a part on each of two shards. */
async function shardReadings(
  side: Side,
  key: Document,
  middle: Document | null,
  moved: Document | null,
): Promise<void> {
  const admin = side.client.db('admin');
  await admin.command({ shardCollection: 'plant.readings', key });
  if (middle === null) return;
  await admin.command({ split: 'plant.system.buckets.readings', middle });
  const shards = await side.client.db('config').collection<{ _id: string }>('shards').find().toArray();
  const [row] = await side.client
    .db('config')
    .collection<{ _id: string; primary: string }>('databases')
    .find({ _id: 'plant' })
    .toArray();
  const other = shards.find(({ _id }) => _id !== row?.primary)?._id;
  await admin.command({ moveChunk: 'plant.system.buckets.readings', find: moved, to: other });
}

const byMeta = [{ sensor: 1 }, { meta: 5 }, { meta: 7 }] as const;
const byMetaAndTime = [
  { sensor: 1, at: 1 },
  { meta: 5, 'control.min.at': at(60) },
  { meta: 7, 'control.min.at': at(0) },
] as const;
const byTime = [{ at: 1 }, { 'control.min.at': at(7_200) }, { 'control.min.at': at(9_000) }] as const;

type Case = [string, Shape, Shape, readonly [Document, Document | null, Document | null] | null, object];
const two = { shards: 2 } as const;
const cases: Case[] = [
  ['of replica sets', 'replicaSet', 'replicaSet', null, {}],
  ['unsharded, through routers', two, two, null, {}],
  ['sharded by meta, through routers', two, two, byMeta, {}],
  ['sharded by meta and time, read from the shards', two, two, byMetaAndTime, readsShards],
  ['sharded by meta and time in one chunk, through routers', two, two, [{ sensor: 1, at: 1 }, null, null], {}],
  ['sharded by time, onto fewer shards', two, { shards: 1 }, byTime, {}],
];

it.each(sampled(cases))(
  'time series %s move by their buckets, while they are written (servers from 6.0)',
  { timeout: 300_000, ...needs({ version: [6, 0] }) },
  async (_, from, to, sharded, settings) => {
    await using fixture = await Fixture.open(from, to, { ...releases, withUsers: settings === readsShards });
    const source = fixture.cluster0.client.db('plant');
    await source.createCollection('readings', {
      timeseries: { timeField: 'at', metaField: 'sensor' },
      expireAfterSeconds: longAge_seconds,
    });
    await source.createCollection('plain', { timeseries: { timeField: 'at' } });
    await source
      .collection('readings')
      .createIndexes([{ key: { sensor: 1, value: 1 } }, { key: { value: -1 }, hidden: true }]);
    await source.createCollection('high', { viewOn: 'readings', pipeline: [{ $match: { value: { $gte: 50 } } }] });
    if (sharded !== null) await shardReadings(fixture.cluster0, ...sharded);
    await source.collection('readings').createIndexes([expiring]);
    await measure(source, 0, 40);
    await measure(source, 7_300, 7_320);
    await source.collection('plain').insertOne({ at: at(1), value: 1 });
    await using instance = await fixture.startInstance(settings);
    await instance.accepted('start', startBody());
    await measure(source, 40, 80);
    await instance.untilCanCommit();
    await measure(source, 80, 100);
    await measure(source, 20, 25);
    await source.collection('readings').deleteMany({ sensor: 3 });
    await source.command({ collMod: 'plain', timeseries: { granularity: 'minutes' } });
    await source.createCollection('late', { timeseries: { timeField: 'when', metaField: 'm' } });
    await source.collection('late').insertMany([
      { when: at(1), m: { a: 1 }, n: 1 },
      { when: at(9_999), m: 'text', n: 2 },
      { when: at(9_999), n: 3 },
    ]);
    await instance.commitWhenOffered();
    const destination = fixture.cluster1.client.db('plant');
    await expectEqual(fixture, ['readings', 'plain', 'late']);
    expect(await measurements(destination, 'high')).toEqual(await measurements(source, 'high'));
    expect(await definitions(destination)).toEqual(await definitions(source));
    expect(await indexes(destination)).toEqual(await indexes(source));
    const shown = JSON.stringify(await instance.progress());
    expect(shown).not.toContain('system.buckets');
    // An application goes on: its server never makes a copied bucket invalid.
    await measure(destination, 100, 110);
    expect(await destination.collection('readings').countDocuments()).toBe(
      (await source.collection('readings').countDocuments()) + 10 * sensors,
    );
  },
);

it(
  'a time series that is dropped and made again, or replaced by an aggregation, is followed',
  needs({ version: [6, 0] }),
  async () => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
    const source = fixture.cluster0.client.db('plant');
    const timeseries = { timeField: 'at', metaField: 'sensor' };
    for (const name of ['readings', 'gone']) await source.createCollection(name, { timeseries });
    await measure(source, 0, 20);
    await source.collection('gone').insertOne({ at: at(0), sensor: 1 });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await source.collection('readings').drop();
    await source.collection('gone').drop();
    await source.createCollection('readings', { timeseries: { ...timeseries, granularity: 'minutes' } });
    await measure(source, 100, 110);
    await instance.commitWhenOffered();
    const destination = fixture.cluster1.client.db('plant');
    await expectEqual(fixture, ['readings']);
    expect(await definitions(destination)).toEqual(await definitions(source));
  },
);

it('filter and remap take a time series as one name', needs({ version: [6, 0] }), async () => {
  await using fixture = await Fixture.open('replicaSet', two, releases);
  const source = fixture.cluster0.client.db('plant');
  const timeseries = { timeField: 'at', metaField: 'sensor' };
  for (const name of ['readings', 'other']) await source.createCollection(name, { timeseries });
  await measure(source, 0, 20);
  await using instance = await fixture.startInstance();
  const chosen = { includeNamespaces: [{ database: 'plant', collections: ['readings'] }] };
  const documentFilter = [{ database: 'plant', collection: 'readings', filter: { value: 1 } }];
  await refuses(
    fixture,
    instance,
    startBody({ ...chosen, documentFilter, sharding: { createSupportingIndexes: true, shardingEntries: [] } }),
    {
      status: 422,
      error: 'documentFilterInvalid',
      says: /time series plant\.readings/,
    },
  );
  await instance.accepted(
    'start',
    startBody({
      ...chosen,
      namespaceRemap: [
        { from: { database: 'plant', collection: 'readings' }, to: { database: 'site', collection: 'values' } },
      ],
      sharding: {
        createSupportingIndexes: true,
        shardingEntries: [{ database: 'plant', collection: 'readings', shardCollection: { key: [{ sensor: 1 }] } }],
      },
    }),
  );
  await measure(source, 20, 40);
  await instance.commitWhenOffered();
  const site = fixture.cluster1.client.db('site');
  expect(await measurements(site, 'values')).toEqual(await measurements(source, 'readings'));
  const [row] = await fixture.cluster1.client
    .db('config')
    .collection<{ _id: string; key: unknown }>('collections')
    .find({ _id: 'site.system.buckets.values' })
    .toArray();
  expect(row?.key).toEqual({ meta: 1 });
  expect((await fixture.cluster1.client.db('plant').listCollections().toArray()).length).toBe(0);
});

it(
  'an excluded time series stays out, and so does the collection that takes its name',
  needs({ version: [6, 0] }),
  async () => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
    const source = fixture.cluster0.client.db('plant');
    await source.createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
    await measure(source, 0, 5);
    await source.collection('plans').insertOne({ n: 1 });
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    const excludeNamespaces = [{ database: 'plant', collections: ['readings'] }];
    await instance.accepted('start', startBody({ excludeNamespaces }));
    await instance.untilCanCommit();
    await measure(source, 5, 10);
    await source.collection('readings').drop();
    await source.collection('readings').insertMany([{ n: 1 }, { n: 2 }]);
    await source.collection('readings').createIndex({ n: 1 }, {}, {});
    await source.collection('readings').rename('kept');
    await source.createCollection('readings', { timeseries: { timeField: 'at', metaField: 'sensor' } });
    await measure(source, 10, 15);
    await source.collection('plans').insertOne({ n: 2 });
    await instance.commitWhenOffered();
    const destination = fixture.cluster1.client.db('plant');
    const names = (await destination.listCollections().toArray()).map(({ name }) => name);
    expect(names.filter((name) => !name.startsWith('system.')).sort()).toEqual(['kept', 'plans']);
    expect(names).not.toContain('system.buckets.readings');
    for (const name of ['kept', 'plans'])
      expect(await destination.collection(name).find().toArray()).toEqual(
        await source.collection(name).find().toArray(),
      );
  },
);

it(
  'a committed migration with time series can be reversed, with what was measured since',
  needs({ version: [6, 0] }),
  async () => {
    await using fixture = await Fixture.open(two, two, { ...releases, withUsers: true });
    const source = fixture.cluster0.client.db('plant');
    await source.createCollection('readings', {
      timeseries: { timeField: 'at', metaField: 'sensor' },
      expireAfterSeconds: longAge_seconds,
    });
    await source.collection('readings').createIndexes([expiring]);
    const before = await indexes(source);
    await shardReadings(fixture.cluster0, ...byMeta);
    await measure(source, 0, 20);
    await using instance = await fixture.startInstance();
    await instance.migrate(startBody({ reversible: true, enableUserWriteBlocking: true }));
    const destination = fixture.cluster1.client.db('plant');
    await measure(destination, 20, 40);
    expect(await indexes(destination)).toEqual(await indexes(source));
    await instance.accepted('reverse');
    await measure(destination, 40, 50);
    await instance.commitWhenOffered();
    await expectEqual(fixture, ['readings']);
    expect((await indexes(source)).filter(({ name }) => name === 'expiring')).toEqual(
      before.filter(({ name }) => name === 'expiring'),
    );
    expect(await source.collection('readings').countDocuments()).toBe(50 * sensors);
  },
);

it(
  'a view that makes room for a time series of its name, and back, is followed',
  needs({ version: [6, 0] }),
  async () => {
    await using fixture = await Fixture.open(two, two, releases);
    const source = fixture.cluster0.client.db('plant');
    const timeseries = { timeField: 'at', metaField: 'sensor' };
    await source.createCollection('base');
    await source.createCollection('readings', { viewOn: 'base', pipeline: [] });
    await source.createCollection('other', { timeseries });
    await source.collection('other').insertOne({ at: at(0), sensor: 1 });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await source.collection('readings').drop();
    await source.createCollection('readings', { timeseries });
    await measure(source, 0, 20);
    await source.collection('other').drop();
    await source.createCollection('other', { viewOn: 'base', pipeline: [{ $limit: 1 }] });
    await instance.commitWhenOffered();
    const destination = fixture.cluster1.client.db('plant');
    await expectEqual(fixture, ['readings']);
    expect(await definitions(destination)).toEqual(await definitions(source));
  },
);

it(
  'a time series has the indexes of its users, not the one that servers make themselves',
  needs({ version: [6, 0] }),
  async () => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
    const source = fixture.cluster0.client.db('plant');
    const timeseries = { timeField: 'at', metaField: 'sensor' };
    const series = ['none', 'renamed', 'narrowed'];
    for (const name of series) {
      await source.createCollection(name, { timeseries });
      for (const index of await indexes(source, name)) await source.collection(name).dropIndex(String(index['name']));
    }
    const ofMetaAndTime = { sensor: 1, at: 1 } as const;
    await source.collection('renamed').createIndexes([{ key: ofMetaAndTime, name: 'of users' }]);
    await source
      .collection('narrowed')
      .createIndexes([{ key: ofMetaAndTime, partialFilterExpression: { sensor: { $gt: 1 } } }]);
    await using instance = await fixture.startInstance();
    await instance.migrate(startBody());
    const destination = fixture.cluster1.client.db('plant');
    for (const name of series) expect(await indexes(destination, name)).toEqual(await indexes(source, name));
  },
);

it(
  'buckets with values of different types in one field arrive, also when they appear in a running migration',
  needs({ version: [6, 0] }),
  async () => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
    const source = fixture.cluster0.client.db('plant');
    for (const name of ['old', 'late']) {
      await source.createCollection(name, { timeseries: { timeField: 'at', metaField: 'sensor' } });
      await source.collection(name).insertOne({ at: at(0), sensor: 0, value: 0 });
    }
    const mix = async (name: string): Promise<void> => {
      await source.command({ collMod: name, timeseriesBucketsMayHaveMixedSchemaData: true });
      await source.collection(`system.buckets.${name}`).insertMany([1, 2].map(mixedBucket));
    };
    await mix('old');
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await mix('late');
    await instance.commitWhenOffered();
    await expectEqual(fixture, ['old', 'late']);
  },
);

/** As 5.0 makes it of a number and a text. */
function mixedBucket(sensor: number): Document {
  const times = [at(sensor * 10_000), at(sensor * 10_000 + 1)] as const;
  return {
    _id: ObjectId.createFromTime(times[0].getTime() / 1_000),
    control: { version: 1, min: { at: times[0], value: sensor }, max: { at: times[1], value: 'text' } },
    meta: sensor,
    data: { at: { 0: times[0], 1: times[1] }, value: { 0: sensor, 1: 'text' } },
  };
}

const byKey = (...key: object[]): Document => ({
  sharding: { shardingEntries: [{ database: 'plant', collection: 'readings', shardCollection: { key } }] },
});

it('a time series that the destination cannot make is refused by name', needs({ version: [6, 0] }), async () => {
  await using fixture = await Fixture.open('replicaSet', two, releases);
  const timeseries = { timeField: 'at', metaField: 'sensor' };
  await fixture.cluster0.client.db('plant').createCollection('readings', { timeseries });
  await using instance = await fixture.startInstance();
  const refused = { status: 422, error: 'shardingEntryInvalid' } as const;
  for (const [key, says] of [
    [[{ value: 1 }], /plant\.readings .*time alone, and not value/],
    [[{ at: 1 }, { sensor: 1 }], /plant\.readings .*time at at the end alone/],
    [[{ sensor: 1 }, { at: 'hashed' }], /plant\.readings .*time at ascending alone/],
  ] as const)
    await refuses(fixture, instance, startBody(byKey(...key)), { ...refused, says });
  const destination = fixture.cluster1.client.db('plant');
  await destination.createCollection('readings');
  const says = /differ from the source's: plant\.readings\. Drop them/;
  await refuses(fixture, instance, startBody(byKey({ sensor: 1 })), {
    status: 422,
    error: 'destinationNotEmpty',
    says,
  });
  await destination.collection('readings').drop();
  await instance.migrate(startBody(byKey({ sensor: 1 })));
});

it(
  'a time series with a collation is sharded by the index that its server made (servers from 6.3)',
  needs({ version: [7, 0] }),
  async () => {
    await using fixture = await Fixture.open('replicaSet', two, releases);
    const source = fixture.cluster0.client.db('plant');
    const timeseries = { timeField: 'at', metaField: 'sensor' };
    await source.createCollection('readings', { timeseries, collation: { locale: 'de' } });
    await source.collection('readings').createIndexes([{ key: { value: 1 } }]);
    await measure(source, 0, 20);
    await using instance = await fixture.startInstance();
    await instance.migrate(startBody(byKey({ sensor: 1 })));
    const destination = fixture.cluster1.client.db('plant');
    await expectEqual(fixture, ['readings']);
    expect(await definitions(destination)).toEqual(await definitions(source));
    const made = await indexes(destination, 'system.buckets.readings');
    expect(made).toEqual(await indexes(source, 'system.buckets.readings'));
    expect(made).toMatchObject([{ name: 'sensor_1_at_1' }, { name: 'value_1', collation: { locale: 'de' } }]);
    expect(made[0]).not.toHaveProperty('collation');
  },
);
