import fc from 'fast-check';
import { BSON, type Db, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, readsShards, type Shape } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { isFullRun, testSeeds } from '../../../../../test/seed.js';
import { needs } from '../../../../../e2e/requirements.js';

const releases = { cluster0: '8.0', cluster1: '8.0' } as const;
const begin_ms = Date.UTC(2026, 0, 1);
const names = ['a', 'b', 'c'] as const;
const sensors = 8;

/** One thing that a user does, or a restart of the instance. */
type Step =
  | { kind: 'measure'; name: string; rows: readonly Row[] }
  | { kind: 'deleteSensor' | 'deleteValue' | 'drop' | 'widen' | 'expire' | 'index'; name: string; n: number }
  | { kind: 'restart' };

interface Row {
  /** Seconds after the beginning. */
  second: number;
  sensor: number;
  value: number;
}

/** How a history begins. */
interface Setting {
  from: Shape;
  to: Shape;
  /** Shard key of the series in measurements' terms; null: not sharded. */
  key: Document | null;
  readsShards: boolean;
}

const two = { shards: 2 } as const;
const settings: readonly Setting[] = [
  { from: 'replicaSet', to: 'replicaSet', key: null, readsShards: false },
  { from: two, to: two, key: null, readsShards: false },
  { from: two, to: two, key: { sensor: 1 }, readsShards: true },
  { from: two, to: two, key: { sensor: 1, at: 1 }, readsShards: false },
  { from: two, to: { shards: 1 }, key: { sensor: 1 }, readsShards: false },
  { from: 'replicaSet', to: { shards: 1 }, key: null, readsShards: false },
];

const row: fc.Arbitrary<Row> = fc.record({
  second: fc.oneof(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0, max: 200_000 })),
  sensor: fc.nat(sensors - 1),
  value: fc.nat(20),
});
const name = fc.constantFrom(...names);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({ kind: fc.constant('measure' as const), name, rows: fc.array(row, { minLength: 1 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom('deleteSensor', 'deleteValue', 'drop', 'widen', 'expire', 'index'),
      name,
      n: fc.nat(20),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
);
const history = fc.record({
  setting: fc.constantFrom(...settings),
  steps: fc.array(step, { minLength: 25, maxLength: 60 }),
  /** Steps before the migration starts. */
  before: fc.integer({ min: 0, max: 20 }),
});

const measurement = ({ second, sensor, value }: Row): Document => ({
  at: new Date(begin_ms + second * 1_000),
  // Some have no metadata, some an object, and some another type of value.
  ...(sensor === 0 ? {} : { sensor: sensor === 1 ? { place: 'roof', n: value % 3 } : sensor }),
  ...(value === 7 ? { text: `v${value}` } : { value }),
});

async function makeSeries(db: Db, name: string): Promise<void> {
  await db.createCollection(name, { timeseries: { timeField: 'at', metaField: 'sensor' } });
}

/** Carries out one step of a user; what a server refuses, as a granularity that would become finer, is no matter. */
async function act(db: Db, { key }: Setting, doing: Exclude<Step, { kind: 'restart' }>): Promise<void> {
  const collection = db.collection(doing.name);
  if (doing.kind === 'measure') {
    await collection.insertMany(doing.rows.map(measurement));
    return;
  }
  const { n } = doing;
  if (doing.kind === 'deleteSensor') await collection.deleteMany({ sensor: n % sensors });
  else if (doing.kind === 'deleteValue') await collection.deleteMany({ value: n });
  else if (doing.kind === 'drop' && doing.name !== names[0]) {
    await collection.drop();
    await makeSeries(db, doing.name);
  } else if (doing.kind === 'widen') {
    const granularity = n % 2 === 0 ? 'minutes' : 'hours';
    await db.command({ collMod: doing.name, timeseries: { granularity } }).catch(() => undefined);
  } else if (doing.kind === 'expire')
    await db.command({ collMod: doing.name, expireAfterSeconds: n % 3 === 0 ? 'off' : 1_000_000_000 + n });
  else if (doing.kind === 'index' && n % 2 === 0)
    await collection.createIndexes([{ key: { value: 1 }, name: 'byValue' }]);
  else if (doing.kind === 'index' && key === null) await collection.dropIndex('byValue').catch(() => undefined);
}

async function shard(fixture: Fixture, key: Document): Promise<void> {
  const { client } = fixture.cluster0;
  const admin = client.db('admin');
  await admin.command({ shardCollection: 'plant.a', key });
  const time = 'at' in key ? { 'control.min.at': new Date(begin_ms) } : {};
  await admin.command({ split: 'plant.system.buckets.a', middle: { meta: 4, ...time } });
  const databases = client.db('config').collection<{ _id: string; primary: string }>('databases');
  const row = await databases.findOne({ _id: 'plant' });
  const other = (await fixture.cluster0.shardIds()).find((id) => id !== row?.primary);
  await admin.command({ moveChunk: 'plant.system.buckets.a', find: { meta: 6, ...time }, to: other });
}

/** Everything about the series of a database, to the byte. */
async function contents(db: Db): Promise<Document> {
  const shown: Document = {};
  const listed = await db.listCollections<{ name: string; options: Document }>({ type: 'timeseries' }).toArray();
  for (const { name, options } of listed.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const found = db.collection(`system.buckets.${name}`).find({}, { promoteValues: false }).sort({ _id: 1 });
    const buckets = (await found.toArray()).map((bucket) => Buffer.from(BSON.serialize(bucket)).toString('base64'));
    const indexes = (await db.collection(name).listIndexes().toArray()) as { name: string }[];
    shown[name] = { options, buckets, indexes: indexes.map((index) => index.name).sort() };
  }
  return shown;
}

it.each(testSeeds(isFullRun ? 30 : 1))(
  'time series are equal to the byte after random writes, changes and restarts, seed %i',
  { timeout: 300_000, ...needs({ version: [8, 0] }) },
  async (seed) => {
    const [drawn] = fc.sample(history, { seed, numRuns: 1 });
    if (drawn === undefined) throw new Error('no history');
    const { setting, steps, before } = drawn;
    const flags = setting.readsShards ? readsShards : {};
    await using fixture = await Fixture.open(setting.from, setting.to, { ...releases, withUsers: setting.readsShards });
    const source = fixture.cluster0.client.db('plant');
    for (const each of names) await makeSeries(source, each);
    if (setting.key !== null) await shard(fixture, setting.key);
    let instance = await fixture.startInstance(flags);
    try {
      const body =
        setting.to !== 'replicaSet' && setting.from === 'replicaSet'
          ? startBody({ sharding: { shardingEntries: [] } })
          : startBody();
      for (const [index, doing] of steps.entries()) {
        if (index === before) await instance.accepted('start', body);
        if (doing.kind !== 'restart') await act(source, setting, doing);
        else if (index > before) {
          await instance.close();
          instance = await fixture.startInstance(flags);
        }
      }
      await instance.commitWhenOffered();
      const destination = fixture.cluster1.client.db('plant');
      expect(await contents(destination)).toEqual(await contents(source));
      for (const each of names) {
        const { valid } = await destination.command({ validate: `system.buckets.${each}` });
        expect(valid).toBe(true);
        await destination.collection(each).insertOne(measurement({ second: 5, sensor: 2, value: 1 }));
      }
    } finally {
      await instance.close();
    }
  },
);
