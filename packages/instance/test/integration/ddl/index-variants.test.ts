import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, type Shape } from '../contract/fixture.js';
import { realRelease } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

/** Indexes of all kinds that servers build. */
const indexes: readonly Document[] = [
  { key: { '$**': 1 }, name: 'wildcard', wildcardProjection: { text: 0 } },
  { key: { 'in.$**': 1 }, name: 'wildcard_path' },
  { key: { a: 1, '$**': 1 }, name: 'wildcard_compound', wildcardProjection: { a: 0, text: 0 } },
  { key: { text: 'text', b: 1 }, name: 'text', weights: { text: 5 }, default_language: 'german' },
  { key: { point: '2dsphere', a: 1 }, name: 'sphere' },
  { key: { flat: '2d' }, name: 'flat', bits: 20, min: -10, max: 10 },
  { key: { a: 'hashed', b: 1 }, name: 'hashed' },
  { key: { at: 1 }, name: 'ttl', expireAfterSeconds: 1_000_000 },
  { key: { at: -1 }, name: 'ttl_partial', expireAfterSeconds: 2_000_000, partialFilterExpression: { a: { $gt: 5 } } },
  { key: { b: 1 }, name: 'unique', unique: true },
  { key: { b: -1 }, name: 'unique_partial', unique: true, partialFilterExpression: { a: { $exists: true } } },
  { key: { c: 1 }, name: 'unique_sparse', unique: true, sparse: true },
  { key: { a: -1 }, name: 'hidden', hidden: true },
  { key: { text: 1 }, name: 'collated', collation: { locale: 'de', strength: 1 } },
  { key: { a: 1, b: 1 }, name: 'prepared', prepareUnique: true },
  { key: { d: 1 }, name: 'unique_hidden', unique: true, hidden: true },
  { key: { a: 1 }, name: 'a', sparse: true },
];

/** What users do to indexes by `collMod` or anew, each in its turn. */
const changes: readonly Document[] = [
  { collMod: 'orders', index: { name: 'hidden', hidden: false } },
  { collMod: 'orders', index: { name: 'wildcard', hidden: true } },
  { collMod: 'orders', index: { name: 'ttl', expireAfterSeconds: 3_000_000 } },
  { collMod: 'orders', index: { name: 'prepared', unique: true } },
  { collMod: 'orders', index: { name: 'a', prepareUnique: true } },
  { collMod: 'orders', index: { name: 'a', prepareUnique: false } },
  { createIndexes: 'orders', indexes: [{ key: { late: 1 }, name: 'late' }] },
  { collMod: 'orders', index: { name: 'late', expireAfterSeconds: 4_000_000 } },
  { createIndexes: 'orders', indexes: [{ key: { c: -1 }, name: 'made_unique' }] },
  { collMod: 'orders', index: { name: 'made_unique', prepareUnique: true } },
  { collMod: 'orders', index: { name: 'made_unique', unique: true } },
  { dropIndexes: 'orders', index: 'unique_sparse' },
  { createIndexes: 'orders', indexes: [{ key: { c: 1 }, name: 'unique_sparse' }] },
  { dropIndexes: 'orders', index: ['flat', 'sphere'] },
];

const rows = Array.from({ length: 40 }, (_, n) => ({
  _id: n,
  a: n,
  b: n,
  c: n,
  d: n,
  at: new Date(4_000_000_000_000),
  text: `text ${n}`,
  in: { x: n, y: [n] },
  point: { type: 'Point', coordinates: [n, n] },
  flat: [n / 10, n / 10],
}));

const shapes: Shape[] = ['replicaSet', { shards: 2 }];

/** The indexes that a change is about. */
function namesIn({ index, indexes: made = [] }: Document): string[] {
  const named: unknown[] = [index ?? [], (made as Document[]).map(({ name }) => name as string)].flat();
  return named.map((one) => (typeof one === 'string' ? one : ((one as Document).name as string)));
}

// Simulated servers do not have all kinds of indexes.
it.runIf(realRelease !== null && realRelease >= 7).each(shapes)(
  'indexes of all kinds are followed, however users change them: %j',
  async (shape) => {
    await using fixture = await Fixture.open(shape, shape);
    const shop = fixture.cluster0.client.db('shop');
    const isSharded = shape !== 'replicaSet';
    if (isSharded) await fixture.cluster0.client.db('admin').command({ shardCollection: 'shop.orders', key: { b: 1 } });
    await shop.collection<{ _id: number }>('orders').insertMany(rows);
    // Of a sharded collection only such indexes are unique as begin with its shard key.
    const fits = ({ key, unique, prepareUnique }: Document): boolean =>
      !isSharded || (unique !== true && prepareUnique !== true) || Object.keys(key as Document)[0] === 'b';
    const made = indexes.filter(fits);
    const names = new Set([...made.map(({ name }) => name as string), 'late', ...(isSharded ? [] : ['made_unique'])]);
    await shop.command({ createIndexes: 'orders', indexes: made.slice(0, 6) });
    await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    await shop.command({ createIndexes: 'orders', indexes: made.slice(6) });
    for (const change of changes)
      if (namesIn(change).every((name) => names.has(name) && !(isSharded && name === 'a'))) await shop.command(change);
    await instance.commitWhenOffered();
    await expectEqualDatabases(fixture, 'shop');
    const left = await shop.collection('orders').indexes();
    expect(left).toContainEqual(expect.objectContaining({ name: 'late', expireAfterSeconds: 4_000_000 }));
    expect(left.some(({ name }) => name === 'flat')).toBe(false);
  },
);
