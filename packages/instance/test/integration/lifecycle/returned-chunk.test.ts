import { MaxKey } from 'mongodb';
import { expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';

interface Order {
  _id: number;
  n: number;
}

async function shardsOf({ cluster0 }: Fixture): Promise<[string, string]> {
  const { shards } = await cluster0.client.db('admin').command({ listShards: 1 });
  const [first = '', second = ''] = (shards as { _id: string }[]).map(({ _id }) => _id).sort();
  return [first, second];
}

/** The chunk of the orders from 0 on. */
async function moveUpperChunk({ cluster0 }: Fixture, to: string): Promise<void> {
  await cluster0.client.db('admin').command({ moveChunk: 'shop.orders', find: { _id: 1 }, to, _waitForDelete: true });
}

async function load(fixture: Fixture): Promise<void> {
  const admin = fixture.cluster0.client.db('admin');
  const [first, second] = await shardsOf(fixture);
  await admin.command({ enableSharding: 'shop', primaryShard: first });
  await admin.command({ shardCollection: 'shop.orders', key: { _id: 1 } });
  await admin.command({ split: 'shop.orders', middle: { _id: 0 } });
  await moveUpperChunk(fixture, second);
  await fixture.cluster0.client
    .db('shop')
    .collection<Order>('orders')
    .insertMany(Array.from({ length: 60 }, (_, n) => ({ _id: n - 30, n: 0 })));
}

/** Changes documents of a chunk while it is on another shard. */
async function moveThereAndBack(fixture: Fixture): Promise<void> {
  const orders = fixture.cluster0.client.db('shop').collection<Order>('orders');
  const [first, second] = await shardsOf(fixture);
  await moveUpperChunk(fixture, first);
  await orders.updateMany({ _id: { $gte: 0, $lt: 20 } }, { $inc: { n: 1 } });
  await orders.insertOne({ _id: 100, n: 1 });
  await orders.deleteOne({ _id: 25 });
  await moveUpperChunk(fixture, second);
}

/** The state, or the error with its description. */
async function outcomeOf(instance: ServedInstance): Promise<string> {
  const { error, errorDescription, progress } = (await instance.progressReply()).body as {
    error?: string;
    errorDescription?: string;
    progress?: { state: string };
  };
  return error === undefined ? (progress?.state ?? '') : `${error} ${errorDescription ?? ''}`;
}

it.each([
  ['at the next read of the catalog', 1],
  ['at the commit', 3_600],
])('a chunk that has moved there and back ends the migration by name %s', async (_when, catalogInterval_seconds) => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await load(fixture);
  const board = new Board();
  const flags = { sourceAccess: 'direct', catalogInterval_seconds };
  await using one = await fixture.startInstance({ ...flags, id: 'shard0' }, board.seat());
  await using other = await fixture.startInstance({ ...flags, id: 'shard1' }, board.seat());
  for (const instance of [one, other])
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
  for (const instance of [one, other]) await instance.untilCanCommit();
  await moveThereAndBack(fixture);
  if (catalogInterval_seconds > 1) for (const instance of [one, other]) await instance.accepted('commit');

  await expect.poll(() => outcomeOf(one)).not.toMatch(/^(RUNNING|COMMITTING)$/);
  expect(await outcomeOf(one)).toMatch(/^chunkMigrationSeen .*chunksMoved shop\.orders/);
});

it('a primary that has moved there and back ends the migration by name', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await load(fixture);
  await fixture.cluster0.client
    .db('shop')
    .collection<Order>('items')
    .insertMany([
      { _id: 1, n: 0 },
      { _id: 2, n: 0 },
    ]);
  const board = new Board();
  const flags = { sourceAccess: 'direct', catalogInterval_seconds: 3_600 };
  await using one = await fixture.startInstance({ ...flags, id: 'shard0' }, board.seat());
  await using other = await fixture.startInstance({ ...flags, id: 'shard1' }, board.seat());
  for (const instance of [one, other])
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
  for (const instance of [one, other]) await instance.untilCanCommit();
  const [first, second] = await shardsOf(fixture);
  for (const to of [second, first]) {
    await fixture.cluster0.client.db('admin').command({ movePrimary: 'shop', to });
    await fixture.cluster0.client
      .db('shop')
      .collection<Order>('items')
      .updateOne({ _id: 1 }, { $inc: { n: 1 } });
  }
  for (const instance of [one, other]) await instance.command('commit');
  await expect.poll(() => outcomeOf(one)).not.toMatch(/^(RUNNING|COMMITTING)$/);
  expect(await outcomeOf(one)).toMatch(/^primaryShardChanged .*primaryShard shop\./);
});

it('a split, a merge and a rename of a sharded collection end nothing', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
  await load(fixture);
  const admin = fixture.cluster0.client.db('admin');
  const board = new Board();
  const flags = { sourceAccess: 'direct', catalogInterval_seconds: 1 };
  await using one = await fixture.startInstance({ ...flags, id: 'shard0' }, board.seat());
  await using other = await fixture.startInstance({ ...flags, id: 'shard1' }, board.seat());
  for (const instance of [one, other])
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
  for (const instance of [one, other]) await instance.untilCanCommit();
  await admin.command({ split: 'shop.orders', middle: { _id: 10 } });
  await admin.command({ mergeChunks: 'shop.orders', bounds: [{ _id: 0 }, { _id: new MaxKey() }] });
  await admin.command({ renameCollection: 'shop.orders', to: 'shop.renamed' });
  await fixture.cluster0.client.db('shop').collection<Order>('renamed').insertOne({ _id: 1_000, n: 1 });
  for (const instance of [one, other]) await instance.untilCanCommit();
  for (const instance of [one, other]) await instance.accepted('commit');
  for (const instance of [one, other]) await instance.untilState('COMMITTED');
  expect(await fixture.cluster1.client.db('shop').collection('renamed').countDocuments()).toBe(61);
});
