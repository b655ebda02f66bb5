import type { ReleaseSeries } from '@convoy/simulator';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { areReal } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { sampled } from '../../../../../test/seed.js';

/** Longest document, in bytes. */
const documentBytesMax = 16 * 2 ** 20;
const idBytes = 300_000;
/** From 6.0 on the entry of an insert has the `_id` twice, and must not exceed the limit either. */
const valueBytes = documentBytesMax - 2 * idBytes - 100;
const large = { _id: 'i'.repeat(idBytes), v: 'v'.repeat(valueBytes) };

function ordersOf({ client }: Fixture['cluster0']) {
  return client.db('shop').collection<{ _id: string; v: string }>('orders');
}

// 5.0 ends the stream with such an event, 7.0 splits it.
it.each(sampled<ReleaseSeries>(['5.0', '7.0']))(
  'a document whose event fits into no reply arrives, and the stream continues after it: from %s',
  async (release) => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: release, cluster1: release });
    await ordersOf(fixture.cluster0).insertOne({ _id: 'first', v: 'x' });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    // The event has the `_id` in its token as well.
    await ordersOf(fixture.cluster0).insertOne(large);
    await ordersOf(fixture.cluster0).insertOne({ _id: 'last', v: 'z' });
    await expect.poll(() => ordersOf(fixture.cluster1).estimatedDocumentCount()).toBe(3);
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    const lengths = await ordersOf(fixture.cluster1)
      .find()
      .sort({ _id: 1 })
      .map(({ _id, v }) => [_id.length, v.length])
      .toArray();
    expect(lengths).toEqual([
      [5, 1],
      [idBytes, valueBytes],
      [4, 1],
    ]);
  },
);

// Through routers before 6.0 such an event ends every stream: that of DDL changes, and those of the verifier on both
// sides.
it('between sharded clusters a document with a too large event arrives, and later changes are verified', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1: '5.0' });
  await fixture.cluster0.client.db('admin').command({ enableSharding: 'shop' });
  await fixture.cluster0.client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await ordersOf(fixture.cluster0).insertOne({ _id: 'first', v: 'x' });
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await ordersOf(fixture.cluster0).insertOne(large);
  await ordersOf(fixture.cluster0).insertOne({ _id: 'last', v: 'z' });
  await fixture.cluster0.client.db('shop').collection('later').insertOne({ n: 1 });
  await fixture.cluster0.client.db('shop').collection('later').rename('renamed');
  await expect.poll(() => ordersOf(fixture.cluster1).estimatedDocumentCount()).toBe(3);
  await expect.poll(() => fixture.cluster1.client.db('shop').collection('renamed').countDocuments()).toBe(1);
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  const lengths = await ordersOf(fixture.cluster1)
    .find()
    .map(({ _id, v }) => [_id.length, v.length])
    .toArray();
  expect(lengths.sort(([a = 0], [b = 0]) => a - b)).toEqual([
    [4, 1],
    [5, 1],
    [idBytes, valueBytes],
  ]);
});

/** Bytes of `_id`s of which an event with the document fits into no reply, and one without it does. */
const longIdBytes = 2_800_000;

it('a document whose _id is nearly three megabytes long is inserted, changed and deleted while syncing', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '8.0', cluster1: '8.0' });
  const [kept, gone] = ['k', 'g'].map((letter) => letter.repeat(longIdBytes)) as [string, string];
  const orders = ordersOf(fixture.cluster0);
  await orders.insertOne({ _id: gone, v: 'x' });
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  await orders.insertOne({ _id: kept, v: 'x' });
  await orders.updateOne({ _id: kept }, { $set: { v: 'y' } });
  await orders.deleteOne({ _id: gone });
  await orders.insertOne({ _id: 'last', v: 'z' });
  await instance.untilCanCommit();
  await instance.accepted('commit');
  await instance.untilState('COMMITTED');
  const found = await ordersOf(fixture.cluster1).find().sort({ _id: 1 }).toArray();
  expect(found.map(({ _id, v }) => [_id === kept ? 'kept' : _id, v])).toEqual([
    ['kept', 'y'],
    ['last', 'z'],
  ]);
});

/** What happens to documents whose `_id`s have so many bytes. Simulated servers show the shorter ones. */
const unseen: readonly (readonly ['inserted' | 'changed' | 'deleted', number])[] = [
  ['inserted', 7_000_000],
  ...(areReal
    ? ([
        ['changed', 4_000_000],
        ['deleted', 4_000_000],
      ] as const)
    : []),
];

it.each(unseen)(
  'a document whose _id fits into no event ends the migration by the name of its collection when it is %s (%i bytes)',
  async (change, length) => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '8.0', cluster1: '8.0' });
    const orders = ordersOf(fixture.cluster0);
    const _id = 'i'.repeat(length);
    await orders.insertOne({ _id: 'first', v: 'x' });
    if (change !== 'inserted') await orders.insertOne({ _id, v: 'x' });
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    if (change === 'inserted') await orders.insertOne({ _id, v: 'x' });
    else if (change === 'changed') await orders.updateOne({ _id }, { $set: { v: 'y' } });
    else await orders.deleteOne({ _id });
    await expect
      .poll(async () => (await instance.progressReply()).body)
      .toMatchObject({
        error: 'documentTooLarge',
        errorDescription: expect.stringMatching(
          /^A change of \d{7,8} bytes in shop\.orders .*_id is too long/,
        ) as unknown,
      });
  },
);

it('a document whose _id has more than five megabytes is copied and committed', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet', { cluster0: '8.0', cluster1: '8.0' });
  const _id = 'f'.repeat(5_200_000);
  await ordersOf(fixture.cluster0).insertOne({ _id, v: 'x' });
  await using instance = await fixture.startInstance();
  await instance.migrate(startBody());
  const found = await ordersOf(fixture.cluster1).find().toArray();
  expect(found.map((one) => [one._id === _id, one.v])).toEqual([[true, 'x']]);
});
