import type { ReleaseSeries } from '@convoy/simulator';
import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { documentsOf } from './equal-databases.js';
import { sampled } from '../../../../../test/seed.js';

/** Updates inside documents, and under names that look like paths. */
const updates: (Document | Document[])[] = [
  { $set: { 'a.b': 1, 'a.new': 2, top: 3 } },
  { $inc: { 'a.count': 1 } },
  { $push: { list: { $each: [1, 2, 3] } } },
  { $set: { 'list.1.x': 'set in an element' } },
  { $set: { 'list.9': 'beyond the end' } },
  { $unset: { 'a.b': '', 'list.0.x': '' } },
  [{ $set: { list: { $slice: ['$list', 2] } } }],
  [{ $replaceWith: { $setField: { field: 'dotted.name', input: '$$ROOT', value: 1 } } }],
  [{ $replaceWith: { $setField: { field: { $literal: '$dollar' }, input: '$$ROOT', value: { '0': 'no index' } } } }],
  { $set: { 'numbers.0': 'a field' } },
  { $pop: { list: -1 } },
];

async function rereadsOf(url: string, reason: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const line = text
    .split('\n')
    .find((each) => each.startsWith('convoy_rereads_total') && each.includes(`reason="${reason}"`));
  return Number(line?.split(' ').at(-1) ?? 0);
}

// 7.0 disambiguates paths, so that nothing needs a re-read.
const releases: [ReleaseSeries, boolean][] = [
  ['5.0', true],
  ['7.0', false],
];

it.each(sampled(releases))('nested updates arrive byte for byte: from %s (re-read: %s)', async (release, readsAnew) => {
  await using fixture = await Fixture.open('replicaSet', { shards: 2 }, { cluster0: release, cluster1: release });
  const orders = fixture.cluster0.client.db('shop').collection<{ _id: number }>('orders');
  const ids = Array.from({ length: 20 }, (_, id) => id);
  await orders.insertMany(
    ids.map((_id) => ({ _id, a: { b: 0, c: 1 }, list: [{ x: 1 }, { x: 2 }], numbers: { 0: 'zero' } })),
  );
  await using instance = await fixture.startInstance();
  const shardingEntries = [{ database: 'shop', collection: 'orders', shardCollection: { key: [{ _id: 'hashed' }] } }];
  await instance.accepted('start', startBody({ sharding: { createSupportingIndexes: true, shardingEntries } }));
  await instance.untilCanCommit();
  for (const _id of ids) {
    for (const update of updates.filter((_, index) => (index + _id) % 3 !== 0)) await orders.updateOne({ _id }, update);
  }
  await orders.insertOne({ _id: 100 });
  const copies = fixture.cluster1.client.db('shop').collection<{ _id: number }>('orders');
  await expect.poll(() => copies.countDocuments({ _id: 100 })).toBe(1);
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  expect(await documentsOf(fixture.cluster1.client, 'shop', 'orders', false)).toEqual(
    await documentsOf(fixture.cluster0.client, 'shop', 'orders', false),
  );
  expect((await rereadsOf(instance.url, 'inexactDelta')) > 0).toBe(readsAnew);
});
