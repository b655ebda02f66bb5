import { describe, expect, it } from 'vitest';
import { DateTime } from '../../../src/bson/value.js';
import type { ReleaseSeries } from '../../../src/node/server-version.js';
import { failureOf, VersionedShard } from './versioned-shard.js';

async function fixtureWithSeries(release: ReleaseSeries = '8.0'): Promise<VersionedShard> {
  const fixture = new VersionedShard(release);
  await fixture.run('db', { create: 'series', timeseries: { timeField: 't', metaField: 'm', granularity: 'minutes' } });
  return fixture;
}

describe('time-series collections', () => {
  it('are listed by their type, beside the collection of their buckets', async () => {
    using fixture = await fixtureWithSeries();
    const listed = (await fixture.found('db', { listCollections: 1, nameOnly: true })) as { name: string }[];
    expect(listed.sort((a, b) => (a.name < b.name ? -1 : 1))).toEqual([
      { name: 'series', type: 'timeseries' },
      { name: 'system.buckets.series', type: 'collection' },
      { name: 'system.views', type: 'collection' },
    ]);
  });

  it('have an index over metadata and time from 8.0 on', async () => {
    using fixture = await fixtureWithSeries();
    expect(await fixture.found('db', { listIndexes: 'series' })).toEqual([
      { v: 2, key: { m: 1, t: 1 }, name: 'm_1_t_1' },
    ]);
    using old = await fixtureWithSeries('5.0');
    expect(await old.found('db', { listIndexes: 'series' })).toEqual([]);
  });

  it('are dropped with their buckets', async () => {
    using fixture = await fixtureWithSeries();
    await fixture.run('db', { drop: 'series' });
    expect(await fixture.found('db', { listCollections: 1, nameOnly: true })).toEqual([
      { name: 'system.views', type: 'collection' },
    ]);
  });

  it.each([
    { insert: 'series', documents: [{ t: new DateTime(0n), m: 1 }] },
    { update: 'series', updates: [{ q: {}, u: { $set: { m: 2 } }, multi: true }] },
    { delete: 'series', deletes: [{ q: {}, limit: 0 }] },
    { find: 'series' },
    { count: 'series' },
    { distinct: 'series', key: 'm' },
    { aggregate: 'series', pipeline: [], cursor: {} },
    { createIndexes: 'series', indexes: [{ key: { m: 1 }, name: 'm' }] },
    { dropIndexes: 'series', index: 'm' },
    { collMod: 'series', expireAfterSeconds: 5 },
    { collStats: 'series' },
  ])('refuse writes, reads and DDL changes by name: %o', async (command) => {
    using fixture = await fixtureWithSeries();
    expect(await failureOf(fixture.run('db', command))).toMatchObject({
      code: 115,
      message: expect.stringContaining('is not part of this simulation') as string,
    });
  });
});
