import { Int32, ObjectId } from 'bson';
import { describe, expect, it } from 'vitest';
import type { ReleaseSeries } from '../../../../src/node/server-version.js';
import { failureOf } from '../versioned-shard.js';
import { lsid, long } from '../shard-fixture.js';
import { at, columnJson, dateJson, first, openBucket, SeriesFixture } from './series-fixture.js';

const releases: readonly ReleaseSeries[] = ['5.0', '6.0', '7.0', '8.0'];
const hour = 3_600_000;

describe('measurements', () => {
  // Corpora, 03-crud steps 28 to 30. The recorded ones have ids of the server.
  it.each(['5.0', '8.0'] as const)('join one bucket as recorded on %s', async (release) => {
    using fixture = await SeriesFixture.of(release);
    const ids = ['6b0b0762a20666711096c022', '6b0b0762a20666711096c023'].map((id) => new ObjectId(id));
    expect(
      await fixture.insert({ _id: ids[0], t: at(first), m: 1, v: 1 }, { _id: ids[1], t: at(first + 1000), m: 1, v: 2 }),
    ).toMatchObject({ n: 2 });
    const oids = ids.map((id) => ({ $oid: id.toHexString() }));
    const control = {
      min: { _id: oids[0], t: dateJson(1_699_999_200_000), v: 1 },
      max: { _id: oids[1], t: dateJson(first + 1000), v: 2 },
    };
    const open = {
      control: { version: 1, ...control },
      meta: 1,
      data: {
        _id: { 0: oids[0], 1: oids[1] },
        t: { 0: dateJson(first), 1: dateJson(first + 1000) },
        v: { 0: 1, 1: 2 },
      },
    };
    const packed = {
      control: { version: 2, ...control, count: 2 },
      meta: 1,
      data: {
        _id: columnJson('BwBrCwdiogZmcRCWwCKALgAAAAAAAAAA'),
        v: columnJson('EAABAAAAgC4AAAAAAAAAAA=='),
        t: columnJson('CQAAaOXPiwEAAIAOfQAAAAAAAAA='),
      },
    };
    expect(JSON.stringify(await fixture.buckets())).toBe(JSON.stringify([release === '5.0' ? open : packed]));
    const [found] = (await fixture.found('db', { find: 'series' })) as Record<string, unknown>[];
    expect(JSON.stringify(found)).toBe(JSON.stringify({ t: dateJson(first), m: 1, _id: oids[0], v: 1 }));
    const [bucket] = (await fixture.found('db', { find: 'system.buckets.series' })) as { _id: { $oid: string } }[];
    expect(bucket?._id.$oid).toMatch(/^6553ede0/);
  });

  it.each(releases)('of a bucket are counted, filtered, grouped and sorted on %s', async (release) => {
    using fixture = await SeriesFixture.of(release);
    for (let n = 0; n < 6; n += 1) await fixture.insert({ t: at(first + n * 1000), m: { a: n % 2, b: 1 }, v: n });
    expect(await fixture.buckets()).toHaveLength(2);
    expect(await fixture.json('db', { count: 'series', query: { v: { $gt: 2 } } })).toMatchObject({ n: 3 });
    expect(await fixture.measurements({ filter: { 'm.a': 1 }, sort: { t: -1 }, limit: 2 })).toEqual([
      { t: dateJson(first + 5000), m: { a: 1, b: 1 }, v: 5 },
      { t: dateJson(first + 3000), m: { a: 1, b: 1 }, v: 3 },
    ]);
    const pipeline = [{ $group: { _id: '$m.a', total: { $sum: '$v' } } }, { $sort: { _id: 1 } }];
    expect(await fixture.found('db', { aggregate: 'series', pipeline, cursor: {} })).toEqual([
      { _id: 0, total: 6 },
      { _id: 1, total: 9 },
    ]);
    expect(await fixture.json('db', { distinct: 'series', key: 'm.a' })).toMatchObject({ values: [0, 1] });
  });

  it.each(releases)('go into another bucket by metadata, span, count and since 5.2 by type on %s', async (release) => {
    using fixture = await SeriesFixture.of(release, { granularity: 'seconds' });
    await fixture.insert({ t: at(first), m: 1, v: 1 });
    await fixture.insert({ t: at(first + 59 * 60_000), m: 1, v: 'text' });
    expect(await fixture.buckets()).toHaveLength(release === '5.0' ? 1 : 2);
    await fixture.insert(
      { t: at(first + hour), m: 1, v: 'text' },
      { t: at(first), m: 2, v: 1 },
      { t: at(first), v: 1 },
    );
    expect(await fixture.buckets()).toHaveLength(4);
    const many = Array.from({ length: 1500 }, (_, n) => ({ t: at(first + n), m: 3, v: n }));
    await fixture.insert(...many);
    expect((await fixture.buckets()).filter(({ meta }) => meta === 3)).toHaveLength(2);
    expect(await fixture.json('db', { count: 'series', query: { m: 3 } })).toMatchObject({ n: 1500 });
  });

  it('without a time are refused, an ordered command ends there', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const reply = await fixture.json('db', {
      insert: 'series',
      documents: [{ t: at(first), m: 1 }, { m: 1 }, { t: at(first), m: 1 }],
    });
    expect(reply).toMatchObject({
      n: 1,
      writeErrors: [{ index: 1, code: 2, errmsg: "'t' must be present and contain a valid BSON UTC datetime value" }],
    });
    const unordered = { insert: 'series', ordered: false, documents: [{ t: 1 }, { t: at(first), m: 1 }] };
    expect(await fixture.json('db', unordered)).toMatchObject({ n: 1, writeErrors: [{ index: 0 }] });
    expect(await fixture.json('db', { count: 'series' })).toMatchObject({ n: 2 });
  });

  it('are stored once when a retryable command is repeated', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const command = {
      insert: 'series',
      documents: [1, 2, 3].map((m) => ({ t: at(first), m: m % 2, v: m })),
      lsid: lsid('a'),
      txnNumber: long(1),
    };
    expect(await fixture.json('db', command)).toMatchObject({ n: 3 });
    expect(await fixture.json('db', command)).toMatchObject({ n: 3 });
    expect(await fixture.json('db', { count: 'series' })).toMatchObject({ n: 3 });
  });

  it('are not inserted in transactions', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const transaction = { lsid: lsid('a'), txnNumber: long(1), startTransaction: true, autocommit: false };
    const command = { insert: 'series', documents: [{ t: at(first), m: 1 }], ...transaction };
    expect(await failureOf(fixture.run('db', command))).toEqual({
      code: 263,
      message: 'Cannot insert into a time-series collection in a multi-document transaction: db.series',
    });
  });
});

describe('a bucket that closes', () => {
  it.each([
    ['5.0', [1, 1]],
    ['6.0', [2, 1]],
    ['7.0', [1, 1]],
    ['8.0', [2, 2]],
  ] as const)('because of a later time has a version by the release %s', async (release, versions) => {
    using fixture = await SeriesFixture.of(release);
    await fixture.insert({ t: at(first), m: 1, v: 1 });
    await fixture.insert({ t: at(first + 48 * hour), m: 1, v: 2 });
    const buckets = (await fixture.buckets()) as { control: { version: number } }[];
    expect(buckets.map(({ control }) => control.version)).toEqual(versions);
    expect(await fixture.measurements()).toHaveLength(2);
  });

  it('takes measurements again where an index finds it, since 6.3', async () => {
    for (const [release, buckets] of [
      ['6.0', 3],
      ['7.0', 2],
      ['8.0', 2],
    ] as const) {
      using fixture = await SeriesFixture.of(release);
      await fixture.insert({ t: at(first), m: 1, v: 1 });
      await fixture.insert({ t: at(first + 48 * hour), m: 1, v: 2 });
      await fixture.insert({ t: at(first + 1), m: 1, v: 3 });
      expect(await fixture.buckets()).toHaveLength(buckets);
    }
  });

  it('has measurements in another order than that of time as version 3 on 8.0', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.insert({ t: at(first + 5), m: 1 });
    await fixture.insert({ t: at(first + 4), m: 1 });
    expect(await fixture.buckets()).toMatchObject([{ control: { version: 3, count: 2 } }]);
    expect(await fixture.measurements()).toMatchObject([{ t: dateJson(first + 5) }, { t: dateJson(first + 4) }]);
  });

  it('of somebody else is appended to; an open one is compressed before', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const id = new ObjectId('6553ede00000000000000001');
    const bucket = openBucket(id, { meta: new Int32(1), times: [first], values: [new Int32(1)] });
    await fixture.run('db', { insert: 'system.buckets.series', documents: [bucket] });
    await fixture.insert({ t: at(first + 1), m: 1, v: 2 });
    expect(await fixture.buckets()).toMatchObject([{ control: { version: 2, count: 2, max: { v: 2 } } }]);
    expect(await fixture.measurements()).toMatchObject([{ v: 1 }, { v: 2 }]);
  });
});

describe('a delete of measurements', () => {
  it.each(['5.0', '6.0'] as const)('takes metadata only, and many, on %s', async (release) => {
    using fixture = await SeriesFixture.of(release);
    await fixture.insert({ t: at(first), m: 1, v: 1 }, { t: at(first), m: 1, v: 2 }, { t: at(first), m: 2, v: 1 });
    const remove = (q: Record<string, unknown>, limit: number) =>
      fixture.json('db', { delete: 'series', deletes: [{ q, limit }] });
    expect(await remove({ m: 1 }, 0)).toMatchObject({ n: 2 });
    expect(await remove({ v: 1 }, 0)).toMatchObject({ writeErrors: [{ code: 72 }] });
    expect(await remove({ m: 2 }, 1)).toMatchObject({ writeErrors: [{ code: 20 }] });
    expect(await fixture.measurements()).toMatchObject([{ m: 2 }]);
  });

  it.each(['7.0', '8.0'] as const)('takes any filter on %s, and one measurement', async (release) => {
    using fixture = await SeriesFixture.of(release);
    await fixture.insert(...[1, 2, 3, 4].map((v) => ({ t: at(first + v), m: 1, v })), { t: at(first), m: 2, v: 3 });
    const remove = (q: Record<string, unknown>, limit: number) =>
      fixture.json('db', { delete: 'series', deletes: [{ q, limit }] });
    expect(await remove({ v: 3 }, 0)).toMatchObject({ n: 2 });
    expect(await fixture.buckets()).toMatchObject([{ meta: 1, control: { version: 2, count: 3 } }]);
    expect(await remove({ v: { $gt: 1 } }, 1)).toMatchObject({ n: 1 });
    expect(await fixture.measurements()).toMatchObject([{ v: 1 }, { v: 4 }]);
    expect(await remove({}, 0)).toMatchObject({ n: 2 });
    expect(await fixture.buckets()).toEqual([]);
  });
});

describe('an update of measurements', () => {
  it('changes metadata of whole buckets', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.insert({ t: at(first), m: { a: 1 }, v: 1 }, { t: at(first), m: { a: 1 }, v: 2 });
    const update = (u: unknown, multi = true, q = { 'm.a': 1 } as Record<string, unknown>) =>
      fixture.json('db', { update: 'series', updates: [{ q, u, multi }] });
    expect(await update({ $set: { 'm.a': 2 } })).toMatchObject({ n: 2, nModified: 2 });
    expect(await fixture.measurements()).toMatchObject([{ m: { a: 2 } }, { m: { a: 2 } }]);
    for (const refused of [
      update({ $set: { v: 1 } }),
      update({ $set: { m: 1 } }, false),
      update({ $set: { m: 1 } }, true, { v: 1 }),
    ])
      expect(await refused).toMatchObject({ writeErrors: [{ code: 72 }] });
  });
});

describe('a bucket with types that do not go together', () => {
  it('is refused since 5.2, whatever validates, until the collection may have such', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const id = new ObjectId('6553ede00000000000000001');
    const mixed = openBucket(id, { meta: new Int32(1), times: [first, first + 1], values: [new Int32(1), 'x'] });
    const insert = { insert: 'system.buckets.series', documents: [mixed], bypassDocumentValidation: true };
    expect(await fixture.json('db', insert)).toMatchObject({ n: 0, writeErrors: [{ code: 408 }] });
    await fixture.run('db', { collMod: 'series', timeseriesBucketsMayHaveMixedSchemaData: true });
    expect(await fixture.json('db', insert)).toMatchObject({ n: 1 });
    await fixture.run('db', { collMod: 'series', timeseriesBucketsMayHaveMixedSchemaData: false });
    const replacement = {
      update: 'system.buckets.series',
      updates: [{ q: { _id: id }, u: mixed.set('meta', new Int32(2)) }],
    };
    expect(await fixture.json('db', replacement)).toMatchObject({ writeErrors: [{ code: 408 }] });
    using old = await SeriesFixture.of('5.0');
    expect(await old.json('db', insert)).toMatchObject({ n: 1 });
    expect(
      await failureOf(old.run('db', { collMod: 'series', timeseriesBucketsMayHaveMixedSchemaData: true })),
    ).toMatchObject({ code: 40415 });
  });
});

describe('a collection made with the flag of mixed types', () => {
  it('takes such buckets', async () => {
    using fixture = new SeriesFixture('8.0');
    const configString = 'app_metadata=(timeseriesBucketsMayHaveMixedSchemaData=true)';
    const storageEngine = { wiredTiger: { configString } };
    await fixture.run('db', { create: 'series', timeseries: { timeField: 't', metaField: 'm' }, storageEngine });
    const mixed = openBucket(new ObjectId(), { times: [first, first + 1], values: [new Int32(1), 'x'] });
    expect(await fixture.json('db', { insert: 'system.buckets.series', documents: [mixed] })).toMatchObject({ n: 1 });
  });
});

describe('buckets by their own name', () => {
  it('are validated in their structure unless that is bypassed', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const insert = { insert: 'system.buckets.series', documents: [{ _id: new ObjectId(), other: 1 }] };
    expect(await fixture.json('db', insert)).toMatchObject({ writeErrors: [{ code: 121 }] });
    expect(await fixture.json('db', { ...insert, bypassDocumentValidation: true })).toMatchObject({ n: 1 });
  });

  it('are found in the order of their ids, by a hint with bounds since 5.3', async () => {
    const ids = [3, 1, 2].map((n) => new ObjectId(`6553ede0000000000000000${n}`));
    for (const release of ['5.0', '8.0'] as const) {
      using fixture = await SeriesFixture.of(release);
      const documents = ids.map((id) => openBucket(id, { meta: id, times: [first], values: [null] }));
      await fixture.run('db', { insert: 'system.buckets.series', documents });
      const find = (command: Record<string, unknown>) =>
        fixture.found('db', { find: 'system.buckets.series', projection: { _id: 1 }, ...command });
      const [least, , greatest] = [...ids].sort((a, b) => (a.toHexString() < b.toHexString() ? -1 : 1));
      expect(await find({ hint: { $natural: 1 }, filter: { _id: { $lt: greatest } } })).toHaveLength(2);
      expect(await find({ filter: { _id: { $in: ids } } })).toMatchObject([
        { _id: { $oid: least?.toHexString() } },
        {},
        {},
      ]);
      const bounded = find({ hint: { _id: 1 }, min: { _id: least }, max: { _id: greatest }, sort: { _id: 1 } });
      if (release === '8.0') expect(await bounded).toHaveLength(2);
      else await expect(bounded).rejects.toMatchObject({ code: 2 });
    }
  });
});
