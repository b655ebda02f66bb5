import { describe, expect, it } from 'vitest';
import { DateTime } from '../../../src/bson/value.js';
import { failureOf, lsid, long, ShardFixture } from './shard-fixture.js';

const START_MS = 1_700_000_000_000n;

function at(seconds: number): DateTime {
  return new DateTime(START_MS + BigInt(seconds) * 1000n);
}

function date(ms: bigint): unknown {
  return { $date: { $numberLong: String(ms) } };
}

async function series(fixture: ShardFixture, options: Record<string, unknown> = {}): Promise<void> {
  await fixture.run('db', {
    create: 'series',
    timeseries: { timeField: 't', metaField: 'm', granularity: 'minutes', ...options },
  });
}

interface Bucket {
  _id: { $oid: string };
  control: { version: number; min: Record<string, unknown>; max: Record<string, unknown> };
  meta?: unknown;
  data: Record<string, Record<string, unknown>>;
}

async function buckets(fixture: ShardFixture): Promise<Bucket[]> {
  return (await fixture.found('db', { find: 'system.buckets.series' })) as Bucket[];
}

describe('time-series collections', () => {
  it('puts the measurements of one insert into one bucket, by one write', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    const before = fixture.now();
    await fixture.run('db', {
      insert: 'series',
      documents: [
        { _id: 1, t: at(0), m: 1, v: 1 },
        { _id: 2, t: at(1), m: 1, v: 2 },
      ],
    });
    expect(fixture.now().i - before.i).toBe(1);
    const [bucket, ...others] = await buckets(fixture);
    expect(others).toEqual([]);
    expect(bucket?._id.$oid.slice(0, 8)).toBe('6553ede0');
    expect(bucket?.control).toEqual({
      version: 1,
      min: { _id: 1, t: date(1_699_999_200_000n), v: 1 },
      max: { _id: 2, t: date(START_MS + 1000n), v: 2 },
    });
    expect(bucket?.meta).toBe(1);
    expect(bucket?.data).toEqual({
      _id: { 0: 1, 1: 2 },
      t: { 0: date(START_MS), 1: date(START_MS + 1000n) },
      v: { 0: 1, 1: 2 },
    });
  });

  it('shows measurements again, the time first, then the metadata', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    await fixture.run('db', { insert: 'series', documents: [{ _id: 1, v: 1, t: at(0), m: 'a', w: null }] });
    await fixture.run('db', { insert: 'series', documents: [{ _id: 2, v: 2, t: at(1), m: 'a' }] });
    const found = (await fixture.found('db', { find: 'series', sort: { _id: 1 } })) as object[];
    expect(found.map((each) => Object.keys(each))).toEqual([
      ['t', 'm', '_id', 'v', 'w'],
      ['t', 'm', '_id', 'v'],
    ]);
    expect(await buckets(fixture)).toHaveLength(1);
    expect(await fixture.json('db', { count: 'series', query: { v: 2 } })).toEqual({ n: 1 });
    expect(await fixture.json('db', { distinct: 'series', key: 'v' })).toEqual({ values: [1, 2] });
  });

  it('opens a new bucket for other metadata, earlier or far later times, and after 1,000 measurements', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    const insert = (...documents: Record<string, unknown>[]): Promise<unknown> =>
      fixture.run('db', { insert: 'series', documents });
    await insert(
      { t: at(0), m: { a: 1, b: 2 } },
      { t: at(0), m: { b: 2, a: 1 } },
      { t: at(0), m: { a: 1 } },
      { t: at(0) },
    );
    expect(await buckets(fixture)).toHaveLength(3);
    await insert({ t: at(86_400), m: { a: 1 } });
    expect(await buckets(fixture)).toHaveLength(4);
    await insert({ t: at(-3600), m: { a: 1 } });
    expect(await buckets(fixture)).toHaveLength(5);
    await insert(...Array.from({ length: 1001 }, (_, v) => ({ t: at(0), m: 'many', v })));
    expect(await buckets(fixture)).toHaveLength(7);
  });

  it('opens a new bucket when one is full of bytes', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    const text = 'x'.repeat(20_000);
    for (let v = 0; v < 8; v += 1) await fixture.run('db', { insert: 'series', documents: [{ t: at(v), m: 1, text }] });
    expect((await buckets(fixture)).length).toBeGreaterThan(1);
  });

  it('refuses a measurement without a time, and transactions', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    const reply = await fixture.json('db', { insert: 'series', documents: [{ t: 5 }, { t: at(0) }], ordered: false });
    expect(reply).toMatchObject({
      n: 1,
      writeErrors: [{ index: 0, code: 2, errmsg: "'t' must be present and contain a valid BSON UTC datetime value" }],
    });
    const inside = { lsid: lsid('a'), txnNumber: long(1), autocommit: false, startTransaction: true };
    expect(
      await failureOf(fixture.run('db', { insert: 'series', documents: [{ t: at(0) }], ...inside })),
    ).toMatchObject({ code: 263 });
  });

  it('repeats no measurement of a retryable insert', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    const command = { insert: 'series', documents: [{ t: at(0), m: 1 }], lsid: lsid('a'), txnNumber: long(1) };
    await fixture.run('db', command);
    await fixture.run('db', command);
    expect(await fixture.found('db', { find: 'series' })).toHaveLength(1);
  });

  it('deletes and updates by metadata only', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    await fixture.run('db', {
      insert: 'series',
      documents: [
        { t: at(0), m: { a: 1 }, v: 1 },
        { t: at(0), m: { a: 2 }, v: 2 },
      ],
    });
    const remove = (q: object, limit: number): Promise<Record<string, unknown>> =>
      fixture.json('db', { delete: 'series', deletes: [{ q, limit }] });
    expect(await remove({ 'm.a': 1 }, 1)).toMatchObject({ n: 0, writeErrors: [{ code: 20 }] });
    expect(await remove({ v: 1 }, 0)).toMatchObject({ n: 0, writeErrors: [{ code: 72 }] });
    expect(await remove({ 'm.a': 1 }, 0)).toMatchObject({ n: 1 });
    const update = (u: object, more: object = { multi: true }): Promise<Record<string, unknown>> =>
      fixture.json('db', { update: 'series', updates: [{ q: { 'm.a': 2 }, u, ...more }] });
    expect(await update({ $set: { v: 1 } })).toMatchObject({ writeErrors: [{ code: 72 }] });
    expect(await update({ $set: { 'm.a': 3 } }, {})).toMatchObject({ writeErrors: [{ code: 72 }] });
    expect(await update({ $set: { 'm.a': 3 } })).toMatchObject({ n: 1, nModified: 1 });
    expect(await fixture.found('db', { find: 'series', projection: { m: 1, v: 1, _id: 0 } })).toEqual([
      { m: { a: 3 }, v: 2 },
    ]);
  });

  it('goes on in a new bucket when somebody else has changed the open one', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    await fixture.run('db', { insert: 'series', documents: [{ t: at(0), m: 1 }] });
    await fixture.run('db', { delete: 'series', deletes: [{ q: { m: 1 }, limit: 0 }] });
    await fixture.run('db', { insert: 'series', documents: [{ t: at(1), m: 1 }] });
    expect(await fixture.found('db', { find: 'series' })).toHaveLength(1);
  });

  it('keeps buckets that are written directly, and shows their measurements in the order of their ids', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    for (const second of [5, 1]) {
      const id = { $oid: `6553ede${second}4472986dfd3617d0` };
      const control = { version: 1, min: { t: at(0), v: second }, max: { t: at(0), v: second } };
      await fixture.run('db', {
        insert: 'system.buckets.series',
        documents: [{ _id: id, control, meta: 1, data: { t: { 0: at(0) }, v: { 0: second } } }],
      });
    }
    expect(await fixture.found('db', { find: 'series', projection: { v: 1, _id: 0 } })).toEqual([{ v: 1 }, { v: 5 }]);
  });

  it('shows indexes on measurements, kept on buckets', async () => {
    using fixture = new ShardFixture();
    await series(fixture);
    await fixture.run('db', { createIndexes: 'series', indexes: [{ key: { 'm.a': 1, t: -1 }, name: 'by_a' }] });
    expect(await fixture.found('db', { listIndexes: 'series' })).toEqual([
      { v: 2, key: { 'm.a': 1, t: -1 }, name: 'by_a' },
    ]);
    const [, own] = (await fixture.found('db', { listIndexes: 'system.buckets.series' })) as { key: object }[];
    expect(own?.key).toEqual({ 'meta.a': 1, 'control.max.t': -1, 'control.min.t': -1 });
    expect(
      await failureOf(fixture.run('db', { createIndexes: 'series', indexes: [{ key: { v: 1 }, name: 'v' }] })),
    ).toMatchObject({ code: 67 });
    await fixture.run('db', { dropIndexes: 'series', index: { 'm.a': 1, t: -1 } });
    expect(await fixture.found('db', { listIndexes: 'series' })).toEqual([]);
  });
});
