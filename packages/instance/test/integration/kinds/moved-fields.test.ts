import type { Document } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture, type Shape } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { documentsOf } from './equal-databases.js';

const [long, other] = ['x'.repeat(300), 'y'.repeat(300)];

/** Updates after which fields are in another place than their values would show. Each is of one document. */
const updates: (Document | Document[])[][] = [
  [[{ $replaceWith: { _id: '$_id', a: '$a', o: '$o', l: '$l', t: '$t', s: '$s' } }]],
  [[{ $unset: 'a' }, { $set: { a: 2 } }]],
  [{ $unset: { a: '' } }, { $set: { a: 2 } }, { $set: { a: 3, n: 1 } }],
  [[{ $set: { o: { y: '$o.y', x: '$o.x', z: '$o.z' } } }]],
  [{ $unset: { 'o.x': '' } }, { $set: { 'o.x': 5 } }, { $rename: { a: 'm' } }],
  [
    [
      {
        $set: {
          l: [
            { k: 2, j: 1 },
            { z: long, x: 1, y: 2 },
          ],
        },
      },
    ],
  ],
  [
    [
      {
        $replaceWith: { $mergeObjects: [{ _id: '$_id' }, { $unsetField: { field: 'a', input: '$$ROOT' } }, { a: 7 }] },
      },
    ],
  ],
  [{ $set: { new: 1, other: 2 } }, { $set: { 'o.new': 1, 'l.0.new': 2 } }],
  [{ $set: { z: 1 } }, { $set: { 0: 1 } }, { $set: { b: 1, a: 9 } }],
  [
    [
      {
        $replaceWith: {
          $setField: { field: 'p.q', input: { $unsetField: { field: 'p.q', input: '$$ROOT' } }, value: 3 },
        },
      },
    ],
  ],
];

const shapes: [Shape, Shape][] = [
  ['replicaSet', 'replicaSet'],
  [{ shards: 2 }, { shards: 2 }],
];

it.each(shapes)('fields that updates move arrive in their places: from %o to %o', async (from, to) => {
  await using fixture = await Fixture.open(from, to, { cluster0: '8.0', cluster1: '8.0' });
  const orders = fixture.cluster0.client.db('shop').collection<{ _id: number }>('orders');
  await orders.insertMany(
    updates.map((_, _id) => ({
      _id,
      a: 1,
      s: long,
      t: other,
      o: { x: 1, y: 2, z: long },
      l: [
        { j: 1, k: 2 },
        { x: 1, y: 2, z: long },
      ],
      'p.q': 1,
    })),
  );
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  for (const [_id, all] of updates.entries()) for (const update of all) await orders.updateOne({ _id }, update);
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  const source = await documentsOf(fixture.cluster0.client, 'shop', 'orders', false);
  expect(source).toHaveLength(updates.length);
  expect(await documentsOf(fixture.cluster1.client, 'shop', 'orders', false)).toEqual(source);
});
