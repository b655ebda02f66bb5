import { describe, expect, it } from 'vitest';
import { Int32, type Long, Timestamp } from 'bson';
import { hashShardKeyValue } from '../../../../src/bson/hash.js';
import type { Doc } from '../../../../src/bson/value.js';
import { failureOf, ShardFixture } from '../shard-fixture.js';
import { VersionedShard } from '../versioned-shard.js';

function at(time: Timestamp): Record<string, unknown> {
  return { readConcern: { level: 'snapshot', atClusterTime: time } };
}

it('let is computed once, before any document is looked at', async () => {
  using fixture = new ShardFixture();
  await fixture.run('db', {
    insert: 'c',
    documents: [
      { _id: 1, a: 3 },
      { _id: 2, a: 4 },
    ],
  });
  const filter = { $expr: { $eq: ['$a', '$$wanted'] } };
  expect(await fixture.found('db', { find: 'c', filter, let: { one: 1, wanted: { $add: ['$$one', 2] } } })).toEqual([
    { _id: 1, a: 3 },
  ]);
  expect(await failureOf(fixture.run('db', { find: 'c', filter, let: { wanted: '$a' } }))).toMatchObject({
    code: 4890500,
  });
  expect(await failureOf(fixture.run('db', { find: 'none', filter }))).toEqual({
    code: 17276,
    message: 'Use of undefined variable: wanted',
  });
});

describe('reads at a time', () => {
  it('show exactly the state of that time, whatever index they go along', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { a: 1 }, name: 'a_1' }] });
    await fixture.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, a: 1 },
        { _id: 2, a: 2 },
        { _id: 3, a: 3 },
      ],
    });
    const then = fixture.now();
    await fixture.run('db', { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { a: 9 } } }] });
    await fixture.run('db', { delete: 'c', deletes: [{ q: { _id: 2 }, limit: 1 }] });
    await fixture.run('db', {
      insert: 'c',
      documents: [
        { _id: 2, a: 'again' },
        { _id: 4, a: 4 },
      ],
    });
    const before = [
      { _id: 1, a: 1 },
      { _id: 2, a: 2 },
      { _id: 3, a: 3 },
    ];
    expect(await fixture.found('db', { find: 'c', ...at(then) })).toEqual(before);
    expect(await fixture.found('db', { find: 'c', sort: { _id: 1 }, ...at(then) })).toEqual(before);
    expect(await fixture.found('db', { find: 'c', hint: { a: 1 }, min: { a: 1 }, max: { a: 4 }, ...at(then) })).toEqual(
      before,
    );
    expect(await fixture.found('db', { find: 'c', filter: { _id: 2 }, ...at(then) })).toEqual([{ _id: 2, a: 2 }]);
    const counted = { aggregate: 'c', pipeline: [{ $match: { a: { $lte: 3 } } }, { $count: 'n' }], cursor: {} };
    expect(await fixture.found('db', { ...counted, ...at(then) })).toEqual([{ n: 3 }]);
    expect(await fixture.found('db', { find: 'c', sort: { _id: 1 } })).toEqual([
      { _id: 1, a: 9 },
      { _id: 2, a: 'again' },
      { _id: 3, a: 3 },
      { _id: 4, a: 4 },
    ]);
  });

  it('draw a sample from what the filter leaves, and never the same document twice', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', {
      insert: 'c',
      documents: Array.from({ length: 20 }, (_, _id) => ({ _id, even: _id % 2 === 0 })),
    });
    const sampled = (stages: object[]) => fixture.found('db', { aggregate: 'c', pipeline: stages, cursor: {} });
    const drawn = (await sampled([{ $sample: { size: 5 } }, { $project: { _id: 1 } }])) as { _id: number }[];
    expect(new Set(drawn.map(({ _id }) => _id)).size).toBe(5);
    expect(drawn.map((document) => Object.keys(document))).toEqual(Array(5).fill(['_id']));
    const even = (await sampled([{ $match: { even: true } }, { $sample: { size: 50 } }])) as { even: boolean }[];
    expect(even.map((document) => document.even)).toEqual(Array(10).fill(true));
    await expect(sampled([{ $sample: { size: 0 } }])).rejects.toMatchObject({ code: 28747 });
  });

  it('keep their time over getMores, by name and by UUID', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3, 4].map((_id) => ({ _id })) });
    const uuid = fixture.shard.access.collection('db.c')?.uuid;
    const opened = await fixture.run('db', { find: uuid, batchSize: 2, ...at(fixture.now()) });
    const id = (opened.get('cursor') as Doc).get('id') as Long;
    await fixture.run('db', { delete: 'c', deletes: [{ q: {}, limit: 0 }] });
    const more = await fixture.json('db', { getMore: id, collection: 'c' });
    expect(more['cursor']).toMatchObject({ nextBatch: [{ _id: 3 }, { _id: 4 }], ns: 'db.c' });
  });

  it('answer nothing for a name that is gone, and refuse times before a change of the catalog: 5.0', async () => {
    using fixture = new VersionedShard('5.0');
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }] });
    const then = fixture.now();
    const opened = await fixture.run('db', { find: 'c', batchSize: 1, ...at(then) });
    await fixture.run('admin', { renameCollection: 'db.c', to: 'db.d' });
    const gone = await fixture.json('db', { find: 'c', ...at(then) });
    expect(gone['cursor']).toEqual({ id: { $numberLong: '0' }, ns: 'db.c', firstBatch: [] });
    expect(await failureOf(fixture.run('db', { find: 'd', ...at(then) }))).toMatchObject({ code: 246 });
    const killed = await failureOf(
      fixture.run('db', { getMore: (opened.get('cursor') as Doc).get('id'), collection: 'c' }),
    );
    expect(killed.code).toBe(175);
    expect(killed.message).toMatch(/^collection renamed from 'db\.c' to 'db\.d'\. UUID [0-9a-f-]{36}$/);
  });

  it('refuse the future, other levels and what has left the window', async () => {
    using fixture = new ShardFixture({ snapshotWindowSeconds: 10 });
    await fixture.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    const then = fixture.now();
    const later = new Timestamp({ t: then.t + 4000, i: 1 });
    expect(await failureOf(fixture.run('db', { find: 'c', ...at(later) }))).toMatchObject({ code: 72 });
    expect(
      await failureOf(fixture.run('db', { find: 'c', readConcern: { level: 'majority', atClusterTime: then } })),
    ).toEqual({
      code: 72,
      message: 'atClusterTime field can be set only if level is equal to snapshot',
    });
    expect(await failureOf(fixture.run('db', { count: 'c', readConcern: { level: 'snapshot' } }))).toMatchObject({
      code: 72,
    });
    fixture.nowMs += 60_000;
    expect(await failureOf(fixture.run('db', { find: 'c', ...at(then) }))).toMatchObject({ code: 239 });
  });

  it('refuse capped collections before 8.0', async () => {
    const readCapped = async (fixture: VersionedShard): Promise<unknown[]> => {
      await fixture.run('db', { create: 'cap', capped: true, size: 4096 });
      await fixture.run('db', { insert: 'cap', documents: [{ _id: 1 }] });
      return fixture.found('db', { find: 'cap', readConcern: { level: 'snapshot' } });
    };
    using old = new VersionedShard('5.0');
    expect(await failureOf(readCapped(old))).toMatchObject({ code: 246 });
    using fixture = new VersionedShard('8.0');
    expect(await readCapped(fixture)).toEqual([{ _id: 1 }]);
  });
});

describe('find', () => {
  it('orders every kind of _id as the server does and finds it again', async () => {
    using fixture = new ShardFixture();
    const ids = [{ $minKey: 1 }, null, -1.5, 2, { $numberLong: '5000000000' }, '', 'a', { x: 1 }, true];
    await fixture.run('db', { insert: 'c', documents: [...ids].reverse().map((_id) => ({ _id })) });
    const found = (await fixture.found('db', { find: 'c', sort: { _id: 1 } })) as { _id: unknown }[];
    expect(found.map(({ _id }) => _id)).toEqual([
      { $minKey: 1 },
      null,
      { $numberDouble: '-1.5' },
      2,
      { $numberLong: '5000000000' },
      '',
      'a',
      { x: 1 },
      true,
    ]);
    for (const _id of ids)
      expect(await fixture.found('db', { find: 'c', filter: { _id: { $eq: _id } } })).toHaveLength(1);
  });

  it('has no MaxKey within min and max, whichever of them is given', async () => {
    using fixture = new ShardFixture();
    const ids = [{ $minKey: 1 }, 1, { $maxKey: 1 }];
    await fixture.run('db', { insert: 'c', documents: ids.map((_id) => ({ _id, k: _id })) });
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { k: -1 }, name: 'k_-1' }] });
    const found = async (find: object) =>
      ((await fixture.found('db', { find: 'c', ...find })) as { _id: unknown }[]).map(({ _id }) => _id);
    const [min, max] = [{ _id: { $minKey: 1 } }, { _id: { $maxKey: 1 } }];
    for (const bounds of [{ min }, { max }, { min, max }])
      expect(await found({ hint: { _id: 1 }, ...bounds })).toEqual(ids.slice(0, 2));
    for (const filter of [{}, { _id: { $gte: { $minKey: 1 } } }, { _id: { $lte: { $maxKey: 1 } } }]) {
      expect(await found({ filter, hint: { _id: 1 }, sort: { _id: 1 } })).toEqual(ids);
    }
    for (const filter of [{ _id: { $gte: { $maxKey: 1 } } }, { _id: { $maxKey: 1 } }])
      expect(await found({ filter })).toEqual(ids.slice(2));
    // Downward it is the last key of that order.
    expect(await found({ hint: { k: -1 }, min: { k: { $maxKey: 1 } } })).toEqual([...ids].reverse().slice(0, 2));
  });

  it('takes hashes for the bounds of a hashed index', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3, 4, 5, 6].map((_id) => ({ _id })) });
    await fixture.run('db', { createIndexes: 'c', indexes: [{ key: { _id: 'hashed' }, name: 'hashed' }] });
    const zero = { $numberLong: '0' };
    const below = await fixture.found('db', { find: 'c', hint: { _id: 'hashed' }, max: { _id: zero } });
    const above = await fixture.found('db', { find: 'c', hint: { _id: 'hashed' }, min: { _id: zero } });
    const isBelow = ({ _id }: { _id: number }) => BigInt(hashShardKeyValue(new Int32(_id)).toString()) < 0n;
    expect([below, above].map((found) => (found as { _id: number }[]).map(isBelow))).toEqual([
      below.map(() => true),
      above.map(() => false),
    ]);
    expect(below.length + above.length).toBe(6);
  });

  it('leaves out what a router says the shard does not own', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', {
      insert: 'c',
      documents: [
        { _id: 1, k: 1 },
        { _id: 2, k: 2 },
      ],
    });
    fixture.shard.access.setShardKey('db.c', new Map([['k', null]]));
    const routed = {
      owns: (_namespace: string, document: Uint8Array) => document.includes(2),
      takes: () => true,
      refuseStale: () => undefined,
    };
    const reply = await fixture.run('db', { find: 'c' }, { routed });
    expect((reply.get('cursor') as Doc).get('firstBatch')).toHaveLength(1);
  });

  it('reads views over views', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3].map((_id) => ({ _id, a: _id })) });
    await fixture.run('db', { create: 'v', viewOn: 'c', pipeline: [{ $match: { a: { $gt: 1 } } }] });
    await fixture.run('db', { create: 'w', viewOn: 'v', pipeline: [{ $project: { a: 1 } }] });
    expect(await fixture.found('db', { find: 'w', filter: { a: 3 } })).toEqual([{ _id: 3, a: 3 }]);
    expect((await failureOf(fixture.run('db', { create: 'x', viewOn: 'x', pipeline: [] }))).code).toBe(5);
  });

  it('refuse a time limit on the getMore of a cursor that does not wait for data', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3].map((_id) => ({ _id })) });
    const opened = await fixture.run('db', { find: 'c', batchSize: 1 });
    const more = { getMore: (opened.get('cursor') as Doc).get('id'), collection: 'c' };
    expect(await failureOf(fixture.run('db', { ...more, maxTimeMS: 100 }))).toMatchObject({ code: 2 });
    expect((await fixture.json('db', more))['cursor']).toMatchObject({ nextBatch: [{ _id: 2 }, { _id: 3 }] });
  });

  it('keeps a capped collection within its limits, in natural order', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'c', capped: true, size: 100_000, max: 2 });
    await fixture.run('db', { insert: 'c', documents: [1, 2, 3].map((_id) => ({ _id })) });
    expect(await fixture.found('db', { find: 'c' })).toEqual([{ _id: 2 }, { _id: 3 }]);
    expect(await fixture.found('db', { find: 'c', sort: { $natural: -1 } })).toEqual([{ _id: 3 }, { _id: 2 }]);
  });
});

describe('reads under a collation', () => {
  const caseless = { locale: 'en', strength: 2 };

  it('sort by it, whatever index there is', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { insert: 'c', documents: ['b', 'A', 'a', 'B'].map((_id) => ({ _id })) });
    const sorted = (await fixture.found('db', { find: 'c', sort: { _id: 1 }, collation: caseless })) as {
      _id: string;
    }[];
    expect(sorted.map(({ _id }) => _id.toLowerCase())).toEqual(['a', 'a', 'b', 'b']);
  });

  it('find ranges of strings by it, also in a collection that is made with it', async () => {
    using fixture = new ShardFixture();
    await fixture.run('db', { create: 'c', collation: { locale: 'en' } });
    await fixture.run('db', { insert: 'c', documents: ['b', 'A', 'a', 'B'].map((_id) => ({ _id })) });
    expect(await fixture.found('db', { find: 'c', filter: { _id: { $gte: 'a' } }, sort: { _id: 1 } })).toEqual([
      { _id: 'a' },
      { _id: 'A' },
      { _id: 'b' },
      { _id: 'B' },
    ]);
    expect(await fixture.found('db', { find: 'c', filter: { _id: { $gt: 'A' } }, sort: { _id: 1 } })).toEqual([
      { _id: 'b' },
      { _id: 'B' },
    ]);
  });
});
