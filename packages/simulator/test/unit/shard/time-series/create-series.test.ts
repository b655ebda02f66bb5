import { describe, expect, it } from 'vitest';
import type { ReleaseSeries } from '../../../../src/node/server-version.js';
import { failureOf, VersionedShard } from '../versioned-shard.js';
import { SeriesFixture } from './series-fixture.js';

interface Listed {
  readonly name: string;
  readonly options: Record<string, unknown>;
  readonly info: Record<string, unknown>;
}

async function listed(fixture: VersionedShard, name: string): Promise<Listed | undefined> {
  const found = await fixture.found('db', { listCollections: 1, filter: { name } });
  return found[0] as Listed | undefined;
}

async function creation(release: ReleaseSeries, command: Record<string, unknown>): Promise<Listed | undefined> {
  using fixture = new VersionedShard(release);
  await fixture.run('db', { create: 'series', ...command });
  return await listed(fixture, 'series');
}

describe('time-series collections', () => {
  it('are listed by their type, beside the collection of their buckets', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const all = (await fixture.found('db', { listCollections: 1, nameOnly: true })) as { name: string }[];
    expect(all.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'series', type: 'timeseries' },
      { name: 'system.buckets.series', type: 'collection' },
      { name: 'system.views', type: 'collection' },
    ]);
  });

  it('have options as recorded, and no UUID but that of the buckets', async () => {
    using fixture = new VersionedShard('5.0');
    const timeseries = { timeField: 't', metaField: 'm', granularity: 'minutes' };
    await fixture.run('db', { create: 'series', timeseries, expireAfterSeconds: 3600 });
    const view = await listed(fixture, 'series');
    const options = {
      expireAfterSeconds: { $numberLong: '3600' },
      timeseries: { ...timeseries, bucketMaxSpanSeconds: 86_400 },
    };
    expect(view).toEqual({ name: 'series', type: 'timeseries', options, info: { readOnly: false } });
    const buckets = await listed(fixture, 'system.buckets.series');
    expect(buckets?.options).toEqual({ validator: expect.anything() as unknown, clusteredIndex: true, ...options });
    expect(buckets?.info).toHaveProperty('uuid');
    expect(buckets).not.toHaveProperty('idIndex');
  });

  it('expire no later than what would be older than 1970', async () => {
    using fixture = new VersionedShard('8.0');
    const timeseries = { timeField: 't' };
    const tooLong = { expireAfterSeconds: Math.floor(Date.now() / 1_000) + 3_600 };
    await expect(fixture.run('db', { create: 'series', timeseries, ...tooLong })).rejects.toMatchObject({ code: 72 });
    await fixture.run('db', { create: 'series', timeseries, expireAfterSeconds: 1_000_000_000 });
    await expect(fixture.run('db', { collMod: 'series', ...tooLong })).rejects.toMatchObject({ code: 72 });
  });

  it('keep storage engine and collation, which their buckets have too', async () => {
    using fixture = new VersionedShard('8.0');
    const storageEngine = { wiredTiger: { configString: 'block_compressor=zlib' } };
    await fixture.run('db', {
      create: 'series',
      timeseries: { timeField: 't' },
      collation: { locale: 'de' },
      storageEngine,
    });
    for (const name of ['series', 'system.buckets.series'])
      expect((await listed(fixture, name))?.options).toMatchObject({ storageEngine, collation: { locale: 'de' } });
  });

  it('have their first index with the simple collation, whatever their own', async () => {
    using fixture = new VersionedShard('8.0');
    await fixture.run('db', {
      create: 'series',
      timeseries: { timeField: 't', metaField: 'm' },
      collation: { locale: 'de' },
    });
    const [index] = await fixture.found('db', { listIndexes: 'system.buckets.series' });
    expect(index).toMatchObject({ name: 'm_1_t_1' });
    expect(index).not.toHaveProperty('collation');
  });

  it('may have names as long as other collections', async () => {
    using fixture = new VersionedShard('8.0');
    const name = (bytes: number): string => 'x'.repeat(bytes - 'db.'.length);
    const timeseries = { timeField: 't' };
    await fixture.run('db', { create: name(255), timeseries });
    await expect(fixture.run('db', { create: name(256), timeseries })).rejects.toMatchObject({ code: 73 });
    await fixture.run('db', { create: `system.buckets.${name(254)}`, timeseries });
  });

  it('take a longest span and a rounding that are equal from 6.3 on, instead of a granularity', async () => {
    const bucketing = { timeField: 't', bucketMaxSpanSeconds: 600, bucketRoundingSeconds: 600 };
    expect((await creation('7.0', { timeseries: bucketing }))?.options).toEqual({ timeseries: bucketing });
    await expect(creation('6.0', { timeseries: bucketing })).rejects.toMatchObject({ code: 40415 });
    await expect(creation('8.0', { timeseries: { ...bucketing, bucketRoundingSeconds: 60 } })).rejects.toMatchObject({
      code: 72,
    });
    await expect(
      creation('8.0', { timeseries: { timeField: 't', granularity: 'hours', bucketMaxSpanSeconds: 3600 } }),
    ).rejects.toMatchObject({ code: 5510500 });
  });

  it.each([
    [{ capped: true, size: 1 }, "db.series: 'timeseries' is not allowed with 'capped'"],
    [{ changeStreamPreAndPostImages: { enabled: true } }, "is not allowed with 'changeStreamPreAndPostImages'"],
    [{ validator: { a: 1 } }, "is not allowed with 'validator'"],
    [{ clusteredIndex: { key: { _id: 1 }, unique: true } }, "is not allowed with 'clusteredIndex'"],
  ])('refuse options of other collections: %o', async (options, message) => {
    await expect(creation('8.0', { timeseries: { timeField: 't' }, ...options })).rejects.toMatchObject({
      code: 72,
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    [{ timeField: 'a.b' }, "db.series: 'timeField' must be a top-level field and not contain a '.'"],
    [{ timeField: 't', metaField: '_id' }, `'metaField' cannot be "_id"`],
    [{ timeField: 't', metaField: 't' }, "'metaField' cannot be the same as 'timeField'"],
  ])('refuse names of fields: %o', async (timeseries, message) => {
    await expect(creation('8.0', { timeseries })).rejects.toMatchObject({ code: 72, message });
  });

  it('are created again with the same options only', async () => {
    using fixture = await SeriesFixture.of('8.0');
    const timeseries = { timeField: 't', metaField: 'm', granularity: 'minutes' };
    await fixture.run('db', { create: 'series', timeseries });
    expect(await failureOf(fixture.run('db', { create: 'series', timeseries: { timeField: 't' } }))).toMatchObject({
      code: 48,
    });
  });

  it('are dropped with their buckets', async () => {
    using fixture = await SeriesFixture.of('8.0');
    await fixture.run('db', { drop: 'series' });
    expect(await fixture.found('db', { listCollections: 1, nameOnly: true })).toEqual([
      { name: 'system.views', type: 'collection' },
    ]);
  });

  it('are restored without a view where the buckets are created by their own name', async () => {
    using fixture = new VersionedShard('8.0');
    const timeseries = { timeField: 't', metaField: 'm', granularity: 'hours', bucketMaxSpanSeconds: 2_592_000 };
    const restored = { validator: { $jsonSchema: { bsonType: 'object' } }, clusteredIndex: true, timeseries };
    await fixture.run('db', { create: 'system.buckets.series', ...restored });
    expect((await listed(fixture, 'system.buckets.series'))?.options).toEqual(restored);
    expect(await listed(fixture, 'series')).toBeUndefined();
  });
});
