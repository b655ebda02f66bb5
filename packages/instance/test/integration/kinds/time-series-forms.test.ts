import {
  Binary,
  BSONRegExp,
  Code,
  type Db,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { needs } from '../../../../../e2e/requirements.js';
import { sampled } from '../../../../../test/seed.js';
import { expectEqualSeries, expectGoesOn } from './equal-series.js';

const releases = { cluster0: '8.0', cluster1: '8.0' } as const;
const two = { shards: 2 } as const;
const begin_ms = Date.UTC(2026, 0, 1);
const at = (second: number): Date => new Date(begin_ms + second * 1_000);

/** A value of each type that metadata, or a field of measurements, may have. */
const values: readonly unknown[] = [
  null,
  true,
  new Int32(7),
  new Double(7),
  new Double(Number.NaN),
  new Double(-0),
  Long.fromString('9007199254740993'),
  Decimal128.fromString('7.00'),
  'text',
  '',
  new Date(-1),
  new ObjectId('0123456789abcdef01234567'),
  new UUID('01234567-89ab-4def-8123-456789abcdef'),
  new Binary(Buffer.from('bytes'), 128),
  new BSONRegExp('^a.b$', 'im'),
  new Timestamp({ t: 5, i: 6 }),
  new Code('function () {}'),
  new MinKey(),
  new MaxKey(),
  [],
  [1, 'two', { three: [3] }],
  {},
  { b: 2, a: { d: [null], c: new Timestamp({ t: 0, i: 0 }) } },
  { $ref: 'of', 'a.b': 1, '': 'nameless' },
];

/** Series by their names, with the options of each. */
const forms: Readonly<Record<string, Document>> = {
  'two\nlines and "quotes"': { timeField: 'time stamp', metaField: 'of\twhat' },
  '^a.*(b|c)[d]+?': { timeField: 't' },
  'dots..in.a.row': { timeField: 'meta', metaField: 'control' },
  '\ud83d\ude80': { timeField: 'data', metaField: '_meta' },
  'tmp.readings': { timeField: 'control', metaField: 'meta' },
  buckets: { timeField: '0', metaField: '1' },
  hours: { timeField: 't', metaField: 'm', granularity: 'hours' },
  secondly: { timeField: 't', metaField: 'm', bucketMaxSpanSeconds: 1, bucketRoundingSeconds: 1 },
  daily: { timeField: 't', metaField: 'm', bucketMaxSpanSeconds: 86_400, bucketRoundingSeconds: 86_400 },
};

interface Form {
  readonly name: string;
  readonly timeseries: Document;
}

async function makeForms(db: Db, given: Readonly<Record<string, Document>>): Promise<Form[]> {
  for (const [name, timeseries] of Object.entries(given))
    await db.createCollection(name, {
      timeseries: timeseries as { timeField: string },
      collation: { locale: 'de', strength: 1 },
      expireAfterSeconds: 1_000_000_000,
    });
  return Object.entries(given).map(([name, timeseries]) => ({ name, timeseries }));
}

/** A measurement of each value, also twice with the same `_id`, and one without metadata. */
async function measure(db: Db, { name, timeseries }: Form, from_seconds: number): Promise<void> {
  const { timeField, metaField } = timeseries as { timeField: string; metaField?: string };
  const rows = [...values, undefined].map((value, n): Document => ({
    [timeField]: at(from_seconds + n * (n % 3)),
    ...(metaField !== undefined && value !== undefined && { [metaField]: value }),
    _id: n % 5,
    value: values[(n * 7) % values.length],
    [`only${String(n % 4)}`]: n,
  }));
  await db.collection(name).insertMany(rows, { ordered: false });
}

it.each(sampled([['replicaSet', 'replicaSet'] as const, [two, two] as const]))(
  'time series of any name, form and metadata arrive to the byte (servers from 6.3, from %j to %j)',
  { timeout: 300_000, ...needs({ version: [7, 0], real: true }) },
  async (from, to) => {
    await using fixture = await Fixture.open(from, to, releases);
    const plant = fixture.cluster0.client.db('plant');
    const series = await makeForms(plant, forms);
    for (const each of series) await measure(plant, each, 0);
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    for (const each of series) await measure(plant, each, 5);
    await instance.untilCanCommit();
    const late = await makeForms(plant, {
      'late\r\nand odd': { timeField: 't', metaField: 'm', granularity: 'minutes' },
    });
    for (const each of [...series, ...late]) {
      await measure(plant, each, 10);
      await measure(plant, each, -100_000);
    }
    await plant.command({ collMod: 'secondly', timeseries: { granularity: 'hours' } });
    await plant.command({
      collMod: 'daily',
      timeseries: { bucketMaxSpanSeconds: 604_800, bucketRoundingSeconds: 604_800 },
    });
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant');
    await expectGoesOn(fixture.cluster1.client.db('plant'));
  },
);

const inYear = (year: number): Date => new Date(Date.UTC(year, 5, 1));

it(
  'measurements of any time and size, and buckets that somebody has closed, arrive to the byte',
  { timeout: 300_000, ...needs({ version: [6, 0], real: true }) },
  async () => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', releases);
    const plant = fixture.cluster0.client.db('plant');
    const readings = await plant.createCollection('readings', { timeseries: { timeField: 't', metaField: 'm' } });
    const large = await plant.createCollection('large', { timeseries: { timeField: 't', metaField: 'm' } });
    const measureAll = async (n: number): Promise<void> => {
      for (const year of [1, 1_000, 1_905, 1_969, 1_970, 2_026, 2_038, 2_107, 9_999])
        await readings.insertMany([0, 1].map((m) => ({ t: inYear(year), m, n })));
      // Buckets have the lowest and the highest value beside the measurements.
      for (const bytes of [200_000, 3_000_000, 5_000_000])
        await large.insertMany([0, 1].map((m) => ({ t: at(n), m, text: String(n).repeat(bytes) })));
    };
    await measureAll(0);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await measureAll(1);
    await instance.untilCanCommit();
    await measureAll(2);
    await plant.collection('system.buckets.readings').updateMany({ meta: 1 }, { $set: { 'control.closed': true } });
    await measureAll(3);
    await large.deleteMany({ m: 1 });
    await large.updateMany({ m: 0 }, { $set: { m: { moved: true } } });
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant');
    await expectGoesOn(fixture.cluster1.client.db('plant'));
  },
);

/** Of each kind that servers take for a time series, with what came later. */
const indexes: readonly Document[] = [
  { key: { t: 1 }, name: 'time' },
  { key: { t: -1, m: 1 }, name: 'time down' },
  { key: { 'm.a.b': 1, value: -1 }, name: 'part and value' },
  { key: { m: 'hashed' }, name: 'hashed' },
  { key: { 'm.$**': 1 }, name: 'wild' },
  { key: { 'm.place': '2dsphere' }, name: 'place of metadata', collation: { locale: 'simple' } },
  { key: { 'm.flat': '2d' }, name: 'flat place', collation: { locale: 'simple' } },
  { key: { place: '2dsphere' }, name: 'place', collation: { locale: 'simple' } },
  { key: { place: '2dsphere', t: 1 }, name: 'place and time', collation: { locale: 'simple' } },
  { key: { m: 1, value: 1 }, name: 'hidden value', hidden: true },
  { key: { m: -1 }, name: 'hidden metadata', hidden: true },
  { key: { value: 1 }, name: 'some values', partialFilterExpression: { value: { $gt: 5 } } },
  { key: { 'm.c': 1 }, name: 'some metadata', partialFilterExpression: { 'm.c': { $exists: true } } },
  { key: { 'm.s': 1 }, name: 'sparse', sparse: true },
  { key: { 'm.name': 1 }, name: 'collated', collation: { locale: 'en', strength: 2 } },
  { key: { value: 1, other: 1 }, name: 'collated values', collation: { locale: 'en', strength: 2 } },
  { key: { t: 1 }, name: 'expiring', expireAfterSeconds: 1_000_000_000, partialFilterExpression: { m: 1 } },
];

it.each(sampled([['replicaSet', 'replicaSet'] as const, [two, two] as const]))(
  'secondary indexes of time series arrive as they are, and are followed (servers from 6.3, from %j to %j)',
  { timeout: 300_000, ...needs({ version: [7, 0], real: true }) },
  async (from, to) => {
    await using fixture = await Fixture.open(from, to, releases);
    const plant = fixture.cluster0.client.db('plant');
    for (const [name, collation] of [
      ['readings', undefined],
      ['collated', { locale: 'fr' }],
    ] as const) {
      const timeseries = { timeField: 't', metaField: 'm' };
      const made = await plant.createCollection(name, { timeseries, ...(collation && { collation }) });
      for (const index of indexes) await plant.command({ createIndexes: name, indexes: [index] });
      const place = { type: 'Point', coordinates: [1, 2] };
      await made.insertMany([{ t: at(0), m: { place, flat: [3, 4], c: 1, s: 1, name: 'N' }, place, value: 1 }]);
    }
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    for (const name of ['readings', 'collated']) {
      const change = (index: Document): Promise<Document> => plant.command({ collMod: name, index });
      for (const hidden of ['place', 'time', 'part and value']) await change({ name: hidden, hidden: true });
      for (const shown of ['hidden value', 'hidden metadata']) await change({ name: shown, hidden: false });
      for (const gone of ['place and time', 'expiring', 'collated values', 'wild'])
        await plant.command({ dropIndexes: name, index: gone });
      await plant.command({ createIndexes: name, indexes: [{ key: { value: -1, t: 1 }, name: 'wild' }] });
    }
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant');
  },
);

it(
  'views that read time series, or their buckets, arrive under other names too',
  { timeout: 300_000, ...needs({ version: [6, 0], real: true }) },
  async () => {
    await using fixture = await Fixture.open('replicaSet', two, releases);
    const plant = fixture.cluster0.client.db('plant');
    for (const name of ['readings', 'limits']) {
      await plant.createCollection(name, { timeseries: { timeField: 't', metaField: 'm' } });
      await plant.collection(name).insertMany(Array.from({ length: 20 }, (_, n) => ({ t: at(n), m: n % 3, n })));
    }
    const view = (name: string, viewOn: string, pipeline: Document[]): Promise<unknown> =>
      plant.createCollection(name, { viewOn, pipeline });
    await view('high', 'readings', [{ $match: { n: { $gt: 10 } } }]);
    await view('beside', 'high', [{ $lookup: { from: 'limits', localField: 'm', foreignField: 'm', as: 'limits' } }]);
    // Servers list no view whose `viewOn` is a collection of buckets.
    const ofMeta = { from: 'system.buckets.readings', localField: 'm', foreignField: 'meta', as: 'buckets' };
    await view('counted', 'limits', [{ $lookup: ofMeta }, { $set: { buckets: { $size: '$buckets' } } }]);
    await using instance = await fixture.startInstance();
    const namespaceRemap = [{ from: { database: 'plant' }, to: { database: 'site' } }];
    await instance.accepted('start', startBody({ namespaceRemap, sharding: { shardingEntries: [] } }));
    await instance.untilCanCommit();
    const warnings = (await instance.progress()).warnings ?? [];
    expect(warnings.filter(({ name }) => name === 'viewSourceLeftOut')).toEqual([]);
    await view('late', 'limits', [{ $unionWith: 'readings' }]);
    await instance.commitWhenOffered();
    await expectEqualSeries(fixture, 'plant', 'site');
    for (const name of ['beside', 'counted', 'late']) {
      const rows = (db: Db): Promise<Document[]> => db.collection(name).find().sort({ _id: 1 }).toArray();
      expect(await rows(fixture.cluster1.client.db('site'))).toEqual(await rows(plant));
    }
  },
);
