import { Int32, ObjectId } from 'bson';
import { describe, expect, it } from 'vitest';
import { decodeColumn } from '../../../../src/time-series/column.js';
import { eventsOf } from '../change-stream/stream-events.js';
import { failureOf } from '../versioned-shard.js';
import { at, dateJson, first, openBucket, SeriesFixture } from './series-fixture.js';

const hour = 3_600_000;
const id = (n: number): ObjectId => new ObjectId(`6b0b0762a20666711096c0${String(n).padStart(2, '0')}`);

interface Update {
  readonly updatedFields: Record<string, { o: number; d: { $binary: { base64: string } } }>;
  readonly disambiguatedPaths?: unknown;
}

describe('a stream over the cluster', () => {
  it('shows nothing of buckets without system events', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const from = fixture.now();
    await fixture.insert({ t: at(first), m: 1 });
    await fixture.run('db', { collMod: 'series', expireAfterSeconds: 5 });
    await fixture.run('db', { drop: 'series' });
    const events = await eventsOf(fixture, from, { showExpandedEvents: true });
    expect(events.map(({ operationType, ns }) => [operationType, ns])).toEqual([
      ['create', { db: 'db', coll: 'series' }],
      ['drop', { db: 'db', coll: 'series' }],
    ]);
  });

  it('shows what becomes of a bucket with system events', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const from = fixture.now();
    await fixture.insert({ _id: id(1), t: at(first), m: 1, v: 1 });
    await fixture.insert({ _id: id(2), t: at(first + 1000), m: 1, v: 2, w: 'new' });
    await fixture.run('db', { delete: 'series', deletes: [{ q: { v: 1 }, limit: 0 }] });
    await fixture.run('db', { delete: 'series', deletes: [{ q: {}, limit: 0 }] });
    const events = await eventsOf(fixture, from, { showSystemEvents: true });
    expect(events.map(({ operationType }) => operationType).slice(-4)).toEqual([
      'insert',
      'update',
      'replace',
      'delete',
    ]);
    expect(events.at(-1)).toMatchObject({ ns: { db: 'db', coll: 'system.buckets.series' }, documentKey: { _id: {} } });
    expect(events.at(-2)).toMatchObject({ fullDocument: { control: { count: 1 } } });
  });

  it('describes an update of open columns by their rows before 8.0', async () => {
    using fixture = await SeriesFixture.of('7.0');
    await fixture.insert({ _id: id(1), t: at(first), m: 1, v: 1 });
    const from = fixture.now();
    await fixture.insert({ _id: id(2), t: at(first + 1000), m: 1, v: 2, w: 3 });
    const [, event] = await eventsOf(fixture, from, { showSystemEvents: true, showExpandedEvents: true });
    expect(event?.['updateDescription']).toEqual({
      updatedFields: {
        'control.min.w': 3,
        'control.max._id': { $oid: id(2).toHexString() },
        'control.max.t': dateJson(first + 1000),
        'control.max.v': 2,
        'control.max.w': 3,
        'data.w': { 1: 3 },
        'data._id.1': { $oid: id(2).toHexString() },
        'data.t.1': dateJson(first + 1000),
        'data.v.1': 2,
      },
      removedFields: [],
      truncatedArrays: [],
      disambiguatedPaths: {
        'data._id.1': ['data', '_id', '1'],
        'data.t.1': ['data', 't', '1'],
        'data.v.1': ['data', 'v', '1'],
      },
    });
  });

  it('shows changed bytes of compressed columns as values on 8.0, and the raw description as such', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.insert({ _id: id(1), t: at(first), m: 1, v: 1 });
    const [before] = (await fixture.buckets()) as { data: { t: { $binary: { base64: string } } } }[];
    const from = fixture.now();
    await fixture.insert({ _id: id(2), t: at(first + 1000), m: 1, v: 2 });
    const [, event] = await eventsOf(fixture, from, { showSystemEvents: true });
    const { updatedFields } = event?.['updateDescription'] as Update;
    expect(updatedFields).toMatchObject({ 'control.count': 2, 'control.max.v': 2 });
    const { o, d } = updatedFields['data.t'] ?? { o: -1, d: { $binary: { base64: '' } } };
    expect(o).toBe(10);
    const old = Buffer.from(before?.data.t.$binary.base64 ?? '', 'base64');
    const patched = Buffer.concat([old.subarray(0, o), Buffer.from(d.$binary.base64, 'base64')]);
    expect(decodeColumn(patched)).toEqual([at(first), at(first + 1000)]);
    const [, raw] = await eventsOf(fixture, from, { showSystemEvents: true, showRawUpdateDescription: true });
    expect(raw?.['rawUpdateDescription']).toMatchObject({ $v: 2, diff: { sdata: { b: { t: { o: 10 } } } } });
  });

  it('shows a replacement where a bucket is compressed as it closes', async () => {
    using fixture = await SeriesFixture.of('6.0');
    await fixture.insert({ t: at(first), m: 1, v: 1 });
    const from = fixture.now();
    await fixture.insert({ t: at(first + 48 * hour), m: 1, v: 2 });
    const events = await eventsOf(fixture, from, { showSystemEvents: true });
    expect(events.slice(1).map(({ operationType }) => operationType)).toEqual(['insert', 'replace']);
    expect(events.at(-1)).toMatchObject({ fullDocument: { control: { version: 2, count: 1 } } });
  });

  it('shows several new buckets of an ordered command at one time on 8.0', async () => {
    for (const release of ['7.0', '8.0'] as const) {
      using fixture = await SeriesFixture.of(release);
      const from = fixture.now();
      await fixture.insert({ t: at(first), m: 1 }, { t: at(first), m: 2 });
      const events = (await eventsOf(fixture, from, { showSystemEvents: true })).slice(-2);
      const times = new Set(events.map(({ clusterTime }) => JSON.stringify(clusterTime)));
      expect(times.size).toBe(release === '8.0' ? 1 : 2);
    }
  });

  it('shows whole buckets that expire', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.run('db', { collMod: 'series', expireAfterSeconds: 3600 });
    await fixture.insert({ t: at(first - 26 * hour), m: 1 }, { t: at(first - 24 * hour), m: 2 });
    const from = fixture.now();
    fixture.shard.removeExpired();
    const events = await eventsOf(fixture, from, { showSystemEvents: true });
    expect(events.filter(({ operationType }) => operationType === 'delete')).toHaveLength(1);
    expect(await fixture.measurements()).toMatchObject([{ m: 2 }]);
  });

  it('shows definitions of the view and of the buckets', async () => {
    using fixture = new SeriesFixture('8.0');
    const from = fixture.now();
    await fixture.run('db', { create: 'series', timeseries: { timeField: 't', metaField: 'm' } });
    await fixture.run('db', { createIndexes: 'series', indexes: [{ key: { v: 1 }, name: 'v_1' }] });
    await fixture.run('db', { collMod: 'series', timeseries: { granularity: 'minutes' } });
    await fixture.run('db', { collMod: 'series', expireAfterSeconds: 5 });
    await fixture.run('db', { dropIndexes: 'series', index: { v: 1 } });
    await fixture.run('db', { drop: 'series' });
    const events = await eventsOf(fixture, from, { showSystemEvents: true, showExpandedEvents: true });
    const shown = events.map(({ operationType, ns, nsType }) => [operationType, (ns as { coll: string }).coll, nsType]);
    expect(shown).toEqual([
      ['create', 'system.buckets.series', 'collection'],
      ['createIndexes', 'system.buckets.series', undefined],
      ['create', 'system.views', 'collection'],
      ['create', 'series', 'timeseries'],
      ['createIndexes', 'system.buckets.series', undefined],
      ['modify', 'series', undefined],
      ['modify', 'system.buckets.series', undefined],
      ['modify', 'system.buckets.series', undefined],
      ['dropIndexes', 'system.buckets.series', undefined],
      ['drop', 'series', undefined],
      ['drop', 'system.buckets.series', undefined],
    ]);
    expect(events[6]).toMatchObject({
      operationDescription: { timeseries: { granularity: 'minutes' } },
      stateBeforeChange: { collectionOptions: { timeseries: { granularity: 'seconds' } } },
    });
  });
});

describe('a stream of one collection', () => {
  it('is refused of a time-series collection, and of its buckets unless system names are allowed', async () => {
    using fixture = await SeriesFixture.of('5.0');
    const open = (name: string, stage: Record<string, unknown>) =>
      fixture.found('db', { aggregate: name, pipeline: [{ $changeStream: stage }], cursor: {} });
    expect(await failureOf(open('series', {}))).toEqual({
      code: 166,
      message: 'Namespace db.series is a timeseries collection',
    });
    expect(await failureOf(open('system.buckets.series', {}))).toMatchObject({ code: 73 });
    const from = fixture.now();
    const bucket = openBucket(id(1), { meta: new Int32(1), times: [first], values: [new Int32(1)] });
    await fixture.run('db', { insert: 'system.buckets.series', documents: [bucket] });
    const events = await open('system.buckets.series', { allowToRunOnSystemNS: true, startAtOperationTime: from });
    expect(events).toMatchObject([{ operationType: 'insert', documentKey: { _id: { $oid: id(1).toHexString() } } }]);
  });
});
