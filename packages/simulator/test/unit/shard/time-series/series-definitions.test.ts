import { Int32, ObjectId } from 'bson';
import { describe, expect, it } from 'vitest';
import { failureOf } from '../versioned-shard.js';
import { at, first, openBucket, SeriesFixture } from './series-fixture.js';

const hour = 3_600_000;

describe('indexes of time-series collections', () => {
  it('have one over metadata and time from 6.3 on', async () => {
    using fixture = await SeriesFixture.of('7.0');
    expect(await fixture.found('db', { listIndexes: 'series' })).toEqual([
      { v: 2, key: { m: 1, t: 1 }, name: 'm_1_t_1' },
    ]);
    expect(await fixture.found('db', { listIndexes: 'system.buckets.series' })).toEqual([
      { v: 2, key: { meta: 1, 'control.min.t': 1, 'control.max.t': 1 }, name: 'm_1_t_1' },
    ]);
    using old = await SeriesFixture.of('6.0');
    for (const name of ['series', 'system.buckets.series'])
      expect(await old.found('db', { listIndexes: name })).toEqual([]);
  });

  it('are stored over buckets, and listed as given', async () => {
    using fixture = await SeriesFixture.of('6.0');
    const indexes = [
      { key: { 'm.a': 1, t: -1 }, name: 'meta' },
      { key: { v: 1 }, name: 'value' },
      { key: { place: '2dsphere' }, name: 'place' },
      { key: { t: 1 }, name: 'some', partialFilterExpression: { 'm.a': { $gt: 1 } } },
    ];
    expect(await fixture.json('db', { createIndexes: 'series', indexes })).toMatchObject({
      numIndexesBefore: 0,
      numIndexesAfter: 4,
    });
    const own = (await fixture.found('db', { listIndexes: 'series' })) as { key: unknown; name: string }[];
    expect(own.map(({ key, name }) => ({ key, name }))).toEqual(indexes.map(({ key, name }) => ({ key, name })));
    expect(await fixture.found('db', { listIndexes: 'system.buckets.series' })).toMatchObject([
      { key: { 'meta.a': 1, 'control.max.t': -1, 'control.min.t': -1 } },
      { key: { 'control.min.v': 1, 'control.max.v': 1 }, originalSpec: { key: { v: 1 } } },
      { key: { 'data.place': '2dsphere_bucket' }, originalSpec: { key: { place: '2dsphere' } } },
      { key: {}, partialFilterExpression: { 'meta.a': { $gt: 1 } }, originalSpec: {} },
    ]);
    await fixture.run('db', { dropIndexes: 'series', index: { v: 1 } });
    await fixture.run('db', { dropIndexes: 'series', index: 'place' });
    expect(await fixture.json('db', { dropIndexes: 'series', index: '*' })).toMatchObject({ nIndexesWas: 2 });
  });

  it('made by hand over buckets are not listed as those of measurements', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const byHand = { key: { 'control.count': 1 }, name: 'by hand' };
    await fixture.run('db', { createIndexes: 'system.buckets.series', indexes: [byHand] });
    expect(await fixture.found('db', { listIndexes: 'series' })).toHaveLength(1);
    expect(await fixture.found('db', { listIndexes: 'system.buckets.series' })).toHaveLength(2);
  });

  it.each([
    [{ key: { m: 1 }, name: 'u', unique: true }, 72],
    [{ key: { m: 1 }, name: 's', sparse: true }, 72],
    [{ key: { v: 'text' }, name: 't' }, 67],
    [{ key: { v: 'hashed' }, name: 'h' }, 67],
    [{ key: { t: 1 }, name: 'e', expireAfterSeconds: 1 }, 72],
  ])('are refused: %o', async (spec, code) => {
    using fixture = await SeriesFixture.of('8.0');
    expect(await failureOf(fixture.run('db', { createIndexes: 'series', indexes: [spec] }))).toMatchObject({ code });
  });

  it('let measurements expire by time and a filter on metadata since 6.3', async () => {
    using fixture = await SeriesFixture.of('7.0');
    const spec = {
      key: { t: 1 },
      name: 'expiry',
      expireAfterSeconds: 3600,
      partialFilterExpression: { m: { $gt: 1 } },
    };
    await fixture.run('db', { createIndexes: 'series', indexes: [spec] });
    expect((await fixture.found('db', { listIndexes: 'series' }))[1]).toMatchObject({ expireAfterSeconds: 3600 });
    await fixture.insert(...[1, 2].map((m) => ({ t: at(first - 48 * hour), m })));
    fixture.shard.removeExpired();
    expect(await fixture.measurements()).toMatchObject([{ m: 1 }]);
    const change = { name: 'expiry', expireAfterSeconds: 5 };
    expect(await failureOf(fixture.run('db', { collMod: 'series', index: change }))).toMatchObject({ code: 72 });
    await fixture.run('db', { collMod: 'series', index: { keyPattern: { m: 1, t: 1 }, hidden: true } });
    expect((await fixture.found('db', { listIndexes: 'series' }))[0]).toMatchObject({ hidden: true });
  });

  it('serve hints by their names and by the fields of measurements', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.insert({ t: at(first), m: 1 });
    for (const hint of ['m_1_t_1', { m: 1, t: 1 }]) expect(await fixture.measurements({ hint })).toHaveLength(1);
  });
});

describe('collMod of a time-series collection', () => {
  it('widens its buckets, and shows that in both descriptions', async () => {
    using fixture = await SeriesFixture.of('8.0', { granularity: 'seconds' });
    await fixture.run('db', { collMod: 'series', timeseries: { granularity: 'minutes' } });
    const listed = (await fixture.found('db', { listCollections: 1, filter: { name: { $regex: 'series' } } })) as {
      options: { timeseries: unknown };
    }[];
    for (const { options } of listed)
      expect(options.timeseries).toMatchObject({ granularity: 'minutes', bucketMaxSpanSeconds: 86_400 });
    const narrower = fixture.run('db', { collMod: 'series', timeseries: { granularity: 'seconds' } });
    expect(await failureOf(narrower)).toMatchObject({ code: 72 });
    const custom = { bucketMaxSpanSeconds: 90_000, bucketRoundingSeconds: 90_000 };
    await fixture.run('db', { collMod: 'series', timeseries: custom });
    await fixture.insert({ t: at(first), m: 1 }, { t: at(first + 24 * hour), m: 1 });
    expect(await fixture.measurements()).toHaveLength(2);
  });

  it('sets and removes when buckets expire', async () => {
    using fixture = await SeriesFixture.of('5.0');
    const expiries = async (): Promise<unknown[]> => {
      const listed = await fixture.found('db', { listCollections: 1, filter: { name: { $regex: 'series' } } });
      return (listed as { options: Record<string, unknown> }[]).map(({ options }) => options['expireAfterSeconds']);
    };
    await fixture.run('db', { collMod: 'series', expireAfterSeconds: 60 });
    expect(await expiries()).toEqual([{ $numberLong: '60' }, { $numberLong: '60' }]);
    await fixture.run('db', { collMod: 'series', expireAfterSeconds: 'off' });
    expect(await expiries()).toEqual([undefined, undefined]);
  });

  it('shows the flag of mixed types among the options of the storage engine since 7.0.13', async () => {
    for (const release of ['6.0', '8.0'] as const) {
      using fixture = await SeriesFixture.of(release);
      await fixture.run('db', { collMod: 'series', timeseriesBucketsMayHaveMixedSchemaData: true });
      const [buckets] = await fixture.found('db', { listCollections: 1, filter: { name: 'system.buckets.series' } });
      const configString = 'app_metadata=(timeseriesBucketsMayHaveMixedSchemaData=true)';
      const shown = { options: { storageEngine: { wiredTiger: { configString } } } };
      if (release === '8.0') expect(buckets).toMatchObject(shown);
      else expect(buckets).not.toMatchObject(shown);
    }
  });

  it('refuses what only other collections have', async () => {
    using fixture = await SeriesFixture.of('8.0');
    for (const change of [
      { validator: {} },
      { viewOn: 'x', pipeline: [] },
      { changeStreamPreAndPostImages: { enabled: true } },
    ])
      expect(await failureOf(fixture.run('db', { collMod: 'series', ...change }))).toMatchObject({ code: 72 });
  });
});

describe('a time-series collection', () => {
  it('has sizes of its buckets, and neither a rename nor findAndModify', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.insert({ t: at(first), m: 1 }, { t: at(first), m: 2 });
    expect(await fixture.json('db', { collStats: 'series' })).toMatchObject({
      ns: 'db.series',
      timeseries: { bucketsNs: 'db.system.buckets.series', bucketCount: 2 },
    });
    const modify = { findAndModify: 'series', query: {}, remove: true };
    expect(await failureOf(fixture.run('db', modify))).toMatchObject({ code: 166 });
    for (const [from, code] of [
      ['db.series', 26],
      ['db.system.buckets.series', 20],
    ])
      expect(await failureOf(fixture.run('admin', { renameCollection: from, to: 'db.x' }))).toMatchObject({ code });
  });

  it('made before 5.2 may keep buckets of several types in a field after an upgrade', async () => {
    using fixture = await SeriesFixture.of('5.0');
    await fixture.insert({ t: at(first), m: 1, v: 1 }, { t: at(first), m: 1, v: 'x' });
    const [bucket] = await fixture.buckets();
    expect(bucket).toMatchObject({ control: { min: { v: 1 }, max: { v: 'x' } } });
    const mixed = openBucket(new ObjectId(), { meta: new Int32(2), times: [first], values: [new Int32(1)] });
    expect(await fixture.json('db', { insert: 'system.buckets.series', documents: [mixed] })).toMatchObject({ n: 1 });
  });
});
