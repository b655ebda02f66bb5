import { UUID } from 'bson';
import { describe, expect, it } from 'vitest';
import type { Doc } from '../../../src/bson/value.js';
import { failureOf, VersionedShard } from './versioned-shard.js';

const at = (time: unknown): Record<string, unknown> => ({ readConcern: { level: 'snapshot', atClusterTime: time } });
const ids = (found: unknown[]): unknown[] => found.map((document) => (document as { _id: unknown })._id);

// As the servers' own test of point-in-time lookups has it.
describe.each(['7.0', '8.0'] as const)('reads at a time of %s find the catalog of that time', (series) => {
  it('by name, before a rename under the old one alone, after a drop still at times before', async () => {
    using shard = new VersionedShard(series);
    await shard.run('db', { insert: 'other', documents: [{ _id: 0 }] });
    const before = shard.now();
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    const then = shard.now();
    await shard.run('admin', { renameCollection: 'db.c', to: 'db.d' });
    const renamed = shard.now();
    await shard.run('db', { drop: 'd' });
    await shard.run('db', { insert: 'c', documents: [{ _id: 2 }] });
    const rows = async (name: string, time: unknown) => ids(await shard.found('db', { find: name, ...at(time) }));
    expect([
      await rows('c', before),
      await rows('c', then),
      await rows('c', renamed),
      await rows('c', shard.now()),
    ]).toEqual([[], [1], [], [2]]);
    expect([await rows('d', then), await rows('d', renamed), await rows('d', shard.now())]).toEqual([[], [1], []]);
    const absent = await shard.json('db', { find: 'd', ...at(then) });
    expect(absent['cursor']).not.toHaveProperty('atClusterTime');
    const piped = await shard.found('db', {
      aggregate: 'c',
      pipeline: [{ $match: { _id: 1 } }],
      cursor: {},
      ...at(then),
    });
    expect(ids(piped)).toEqual([1]);
    expect((await shard.run('db', { distinct: 'd', key: '_id', ...at(renamed) })).get('values')).toHaveLength(1);
  });

  it('by UUID, and there is none before it was made', async () => {
    using shard = new VersionedShard(series);
    await shard.run('db', { insert: 'other', documents: [{ _id: 0 }] });
    const before = shard.now();
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    const then = shard.now();
    const uuid = shard.shard.access.collection('db.c')?.uuid;
    await shard.run('admin', { renameCollection: 'db.c', to: 'db.d' });
    const reply = await shard.json('db', { find: uuid, ...at(then) });
    expect(reply['cursor']).toMatchObject({ ns: 'db.c', firstBatch: [{ _id: 1 }] });
    await shard.run('db', { drop: 'd' });
    expect(ids(await shard.found('db', { find: uuid, ...at(then) }))).toEqual([1]);
    expect(await failureOf(shard.run('db', { find: uuid }))).toMatchObject({ code: 26 });
    expect(await failureOf(shard.run('db', { find: uuid, ...at(before) }))).toMatchObject({ code: 26 });
  });

  it('with the indexes of that time', async () => {
    using shard = new VersionedShard(series);
    await shard.run('db', { insert: 'c', documents: [{ _id: 1, x: 1 }] });
    const before = shard.now();
    await shard.run('db', { createIndexes: 'c', indexes: [{ key: { x: 1 }, name: 'x_1' }] });
    const made = shard.now();
    await shard.run('db', { dropIndexes: 'c', index: 'x_1' });
    await shard.run('db', { delete: 'c', deletes: [{ q: {}, limit: 0 }] });
    const hinted = { find: 'c', filter: { x: 1 }, hint: { x: 1 } };
    expect(await failureOf(shard.run('db', { ...hinted, ...at(before) }))).toMatchObject({ code: 2 });
    expect(ids(await shard.found('db', { find: 'c', filter: { x: 1 }, ...at(before) }))).toEqual([1]);
    expect(ids(await shard.found('db', { ...hinted, ...at(made) }))).toEqual([1]);
    expect(await failureOf(shard.run('db', { ...hinted, ...at(shard.now()) }))).toMatchObject({ code: 2 });
  });

  it('and survive renames and drops, while others end', async () => {
    using shard = new VersionedShard(series);
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }, { _id: 2 }, { _id: 3 }] });
    const idOf = (reply: Doc): unknown => (reply.get('cursor') as Doc).get('id');
    const atTime = idOf(await shard.run('db', { find: 'c', batchSize: 1, ...at(shard.now()) }));
    const present = idOf(await shard.run('db', { find: 'c', batchSize: 1 }));
    const more = async (id: unknown) =>
      ((await shard.json('db', { getMore: id, collection: 'c', batchSize: 1 }))['cursor'] as { nextBatch: unknown[] })
        .nextBatch;
    await shard.run('admin', { renameCollection: 'db.c', to: 'db.d' });
    expect(ids(await more(atTime))).toEqual([2]);
    expect(await failureOf(more(present))).toMatchObject({ code: 175 });
    await shard.run('db', { drop: 'd' });
    expect(ids(await more(atTime))).toEqual([3]);
  });

  it('as far back as the history goes', async () => {
    using shard = new VersionedShard(series, { snapshotWindowSeconds: 10 });
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    const [then, uuid] = [shard.now(), shard.shard.access.collection('db.c')?.uuid];
    await shard.run('db', { drop: 'c' });
    shard.nowMs += 60_000;
    for (const named of ['c', uuid])
      expect(await failureOf(shard.run('db', { find: named, ...at(then) }))).toMatchObject({ code: 239 });
  });
});

it('capped collections are not read at a time', async () => {
  using shard = new VersionedShard('7.0');
  await shard.run('db', { create: 'cap', capped: true, size: 4096 });
  expect(await failureOf(shard.run('db', { find: 'cap', ...at(shard.now()) }))).toMatchObject({ code: 246 });
});

describe('writes that say by collectionUUID which collection they mean', () => {
  const writes: Record<string, unknown>[] = [
    { insert: 'c', documents: [{ _id: 9 }] },
    { update: 'c', updates: [{ q: { _id: 1 }, u: { $set: { a: 1 } } }] },
    { delete: 'c', deletes: [{ q: { _id: 1 }, limit: 1 }] },
  ];

  it.each(writes)('are refused for another one, or none, and say whose the UUID is: %j', async (write) => {
    using shard = new VersionedShard('6.0');
    await shard.run('db', { insert: 'c', documents: [{ _id: 1 }] });
    await shard.run('db', { insert: 'd', documents: [{ _id: 1 }] });
    const [meant, name] = [shard.shard.access.collection('db.d')?.uuid, Object.keys(write)[0] ?? ''];
    for (const target of ['c', 'gone']) {
      const extra = { db: 'db', expectedCollection: target, actualCollection: 'd' };
      await expect(shard.run('db', { ...write, [name]: target, collectionUUID: meant })).rejects.toMatchObject({
        code: 361,
        extra: expect.toSatisfy(has(extra)) as unknown,
      });
    }
    const unknown = { actualCollection: null };
    await expect(shard.run('db', { ...write, collectionUUID: new UUID() })).rejects.toMatchObject({
      code: 361,
      extra: expect.toSatisfy(has(unknown)) as unknown,
    });
    await expect(shard.run('db', { ...write, [name]: 'd', collectionUUID: meant })).resolves.toBeDefined();
    expect(shard.shard.access.collection('db.gone')).toBeUndefined();
  });

  it.each(writes)('are not known before 6.0: %j', async (write) => {
    using shard = new VersionedShard('5.0');
    expect(await failureOf(shard.run('db', { ...write, collectionUUID: new UUID() }))).toMatchObject({ code: 40_415 });
  });
});

function has(wanted: Record<string, unknown>): (extra: Doc) => boolean {
  return (extra) => Object.entries(wanted).every(([name, value]) => extra.get(name) === value);
}
