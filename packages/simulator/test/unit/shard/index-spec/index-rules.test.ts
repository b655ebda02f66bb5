import { describe, expect, it } from 'vitest';
import { failureOf, ShardFixture } from '../shard-fixture.js';
import { VersionedShard } from '../versioned-shard.js';

function create(fixture: ShardFixture, spec: Record<string, unknown>): Promise<unknown> {
  return fixture.run('db', { createIndexes: 'c', indexes: [{ name: 'i', ...spec }] });
}

describe('index descriptions that are refused', () => {
  it.each<[Record<string, unknown>, number]>([
    [{ key: { a: 1 }, nonsense: 1 }, 197],
    [{ key: { _id: 1 }, unique: true }, 197],
    [{ key: { _id: 1 }, expireAfterSeconds: 5 }, 197],
    [{ key: { a: 1, b: 1 }, expireAfterSeconds: 5 }, 67],
    [{ key: { a: 1 }, sparse: true, partialFilterExpression: { a: 1 } }, 67],
    [{ key: { a: 'hashed' }, unique: true }, 16764],
    [{ key: { a: 1 }, v: 3 }, 67],
    [{ key: { a: 1 }, name: '*' }, 2],
    [{ key: { a: 0 } }, 67],
    [{ key: {} }, 67],
    [{ key: { a: 1 }, partialFilterExpression: { b: { $ne: 1 } } }, 67],
    [{ key: { a: 1 }, partialFilterExpression: { b: { $exists: false } } }, 67],
    [{ key: { a: 1 }, partialFilterExpression: 5 }, 14],
  ])('%j with %i', async (spec, code) => {
    using fixture = new ShardFixture();
    expect(await failureOf(create(fixture, spec))).toMatchObject({ code });
  });

  it('are those with $or in their filter, until 5.0', async () => {
    const spec = { key: { a: 1 }, partialFilterExpression: { $or: [{ b: 1 }, { c: 1 }] } };
    using old = new VersionedShard('5.0');
    expect(await failureOf(create(old, spec))).toMatchObject({ code: 67 });
    using fixture = new VersionedShard('8.0');
    await create(fixture, spec);
  });
});

describe('indexes that cannot be built together', () => {
  const twice = [
    { key: { a: 1 }, name: 'i' },
    { key: { a: 1 }, name: 'i' },
  ];

  it('leave no collection behind that would have come with them', async () => {
    using fixture = new ShardFixture();
    expect(await failureOf(fixture.run('db', { createIndexes: 'c', indexes: twice }))).toMatchObject({
      code: 68,
      message: 'Identical index already exists: i',
    });
    expect(fixture.shard.access.collectionsOf('db')).toEqual([]);
  });

  it('are refused in the words of an empty collection, or of one with documents', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'c' });
    expect(await failureOf(fixture.run('db', { createIndexes: 'c', indexes: twice }))).toMatchObject({
      code: 68,
      message: expect.stringContaining('index build on empty collection failed') as string,
    });
    await fixture.run('db', { insert: 'c', documents: [{ a: 1 }] });
    expect(await failureOf(fixture.run('db', { createIndexes: 'c', indexes: twice }))).toMatchObject({ code: 96 });
  });
});

it('descriptions are listed in an order of their own', async () => {
  using fixture = new ShardFixture();
  await create(fixture, { key: { a: 1 }, expireAfterSeconds: 5, sparse: true, hidden: true, unique: true });
  const [, listed] = ((await fixture.json('db', { listIndexes: 'c' })) as { cursor: { firstBatch: object[] } }).cursor
    .firstBatch;
  expect(Object.keys(listed ?? {})).toEqual(['v', 'key', 'name', 'unique', 'hidden', 'sparse', 'expireAfterSeconds']);
});

it('the index of _id has the collation of its collection', async () => {
  using fixture = new ShardFixture();
  expect(await failureOf(create(fixture, { key: { _id: 1 }, collation: { locale: 'fr' } }))).toMatchObject({ code: 2 });
  const idIndex = { key: { _id: 1 }, name: '_id_', collation: { locale: 'fr' } };
  expect(await failureOf(fixture.run('db', { create: 'c', idIndex }))).toMatchObject({ code: 2 });
  await fixture.run('db', { create: 'c', idIndex, collation: { locale: 'fr' } });
});

describe('documents that an index cannot hold are refused', () => {
  it.each<[Record<string, number | string>, object, number]>([
    [{ a: 1, b: 1 }, { a: [1, 2], b: [1] }, 171],
    [{ a: 1, b: 1 }, { a: [1], b: [1] }, 171],
    [{ 'a.x': 1, b: 1 }, { a: [{ x: 1 }], b: [1] }, 171],
    [{ a: 'hashed' }, { a: [1] }, 16766],
  ])('%j and %j with %i', async (key, document, code) => {
    using fixture = new ShardFixture();
    await create(fixture, { key });
    expect(await fixture.json('db', { insert: 'c', documents: [document] })).toMatchObject({ writeErrors: [{ code }] });
  });
});

describe('indexes', () => {
  it('enforce uniqueness where they hold a document', async () => {
    using fixture = new ShardFixture();
    await create(fixture, { key: { a: 1 }, unique: true, partialFilterExpression: { on: true } });
    await fixture.run('db', {
      createIndexes: 'c',
      indexes: [{ key: { b: 1, c: 1 }, name: 'bc', unique: true, sparse: true }],
    });
    const insert = async (document: object): Promise<unknown> => {
      const reply = await fixture.json('db', { insert: 'c', documents: [document] });
      return (reply as { writeErrors?: { code: number }[] }).writeErrors?.[0]?.code;
    };
    expect(await insert({ a: 1, on: true })).toBeUndefined();
    expect(await insert({ a: 1, on: false })).toBeUndefined();
    expect(await insert({ a: 1, on: true })).toBe(11000);
    expect(await insert({ b: [1, 2] })).toBeUndefined();
    expect(await insert({ b: 2 })).toBe(11000);
    expect(await insert({ b: 2, c: 1 })).toBeUndefined();
  });

  it('are hinted by name or key, unless hidden; a described one scans the collection', async () => {
    using fixture = new ShardFixture();
    await create(fixture, { key: { a: 1 } });
    await fixture.run('db', {
      createIndexes: 'c',
      indexes: [
        { key: { '$**': 1 }, name: 'wild' },
        { key: { h: 1 }, name: 'h', hidden: true },
      ],
    });
    await fixture.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, a: 2 },
        { _id: 2, a: 1 },
      ],
    });
    const ids = async (hint: unknown): Promise<unknown> =>
      ((await fixture.found('db', { find: 'c', hint })) as { _id: number }[]).map(({ _id }) => _id);
    expect(await ids('i')).toEqual([2, 1]);
    expect(await ids({ a: 1 })).toEqual([2, 1]);
    expect(await ids('wild')).toEqual([1, 2]);
    expect(await failureOf(ids('h'))).toMatchObject({ code: 2 });
    expect(await failureOf(ids('none'))).toMatchObject({ code: 2 });
  });
});
