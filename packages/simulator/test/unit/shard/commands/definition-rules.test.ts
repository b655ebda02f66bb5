import { describe, expect, it } from 'vitest';
import { failureOf, ShardFixture } from '../shard-fixture.js';

describe('definitions that are refused', () => {
  it.each<[Record<string, unknown>, number]>([
    [{ validator: { $nonsense: 1 } }, 2],
    [{ validator: { a: { $nonsense: 1 } } }, 2],
    [{ collation: { locale: 'xx_nope' } }, 2],
    [{ viewOn: 'c', pipeline: [{ $out: 'd' }] }, 167],
    [{ viewOn: 'c', pipeline: [{ $merge: 'd' }] }, 167],
  ])('%j with %i', async (options, code) => {
    using fixture = new ShardFixture();
    expect(await failureOf(fixture.run('db', { create: 'x', ...options }))).toMatchObject({ code });
  });

  it('also when a collection is modified', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'x' });
    expect(await failureOf(fixture.run('db', { collMod: 'x', validator: { $nonsense: 1 } }))).toMatchObject({
      code: 2,
    });
  });

  it.each(['en_US_POSIX', 'zh_Hant', 'fr_CA'])('but the locale %s is known', async (locale) => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'x', collation: { locale } });
    expect(await fixture.json('db', { listCollections: 1 })).toMatchObject({
      cursor: { firstBatch: [{ options: { collation: { locale } } }] },
    });
  });
});

describe('a view', () => {
  it('keeps what a modification does not name', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'v', viewOn: 'c', pipeline: [{ $match: { a: 1 } }] });
    await fixture.run('db', { collMod: 'v', viewOn: 'd' });
    expect(fixture.shard.access.view('db.v')).toMatchObject({ viewOn: 'd', pipeline: [expect.anything()] });
    await fixture.run('db', { collMod: 'v', pipeline: [] });
    expect(fixture.shard.access.view('db.v')).toMatchObject({ viewOn: 'd', pipeline: [] });
  });

  it('is read with its own collation, or none, and with no other', async () => {
    using fixture = new ShardFixture();
    const collation = { locale: 'en', strength: 2 };
    await fixture.run('db', { create: 'c', collation });
    await fixture.run('db', { create: 'same', viewOn: 'c', pipeline: [], collation });
    await fixture.run('db', { create: 'plain', viewOn: 'c', pipeline: [] });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 'a', n: 'X' }] });
    const filter = { n: 'x' };
    expect(await fixture.found('db', { find: 'same', filter })).toHaveLength(1);
    expect(await fixture.found('db', { find: 'same', filter, collation })).toHaveLength(1);
    expect(await fixture.found('db', { find: 'plain', filter })).toHaveLength(0);
    expect(await fixture.json('db', { count: 'same', query: filter })).toMatchObject({ n: 1 });
    expect(await fixture.json('db', { count: 'plain', query: filter })).toMatchObject({ n: 0 });
    expect(await failureOf(fixture.run('db', { find: 'same', filter, collation: { locale: 'simple' } }))).toMatchObject(
      { code: 167 },
    );
    expect(await failureOf(fixture.run('db', { distinct: 'plain', key: 'n', collation }))).toMatchObject({ code: 167 });
  });
});
