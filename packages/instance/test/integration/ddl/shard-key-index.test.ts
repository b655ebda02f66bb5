import type { Collection } from 'mongodb';
import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { dropKeyIndex } from './refused-drop.js';

/** A collection whose shard key has one index. */
async function load({ cluster0: { client } }: Fixture): Promise<Collection> {
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { k: 1 } });
  const orders = client.db('shop').collection('orders');
  await orders.insertMany(Array.from({ length: 50 }, (_, n) => ({ k: n, a: n % 5 })));
  return orders;
}

it('the only index of a shard key is replaced where the destination refuses to drop it', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1: '8.0' });
  const orders = await load(fixture);
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();

  await orders.dropIndex('k_1');
  await orders.createIndexes([
    { key: { k: 1 }, name: 'orders by k' },
    { key: { a: 1 }, name: 'a_1' },
  ]);
  const names = async (): Promise<unknown[]> =>
    (await fixture.cluster1.client.db('shop').collection('orders').indexes()).map(({ name }) => name as unknown).sort();
  await expect.poll(names).toEqual(['_id_', 'a_1', 'orders by k']);
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});

it('the only index of a shard key is replaced on a source that refuses to drop it before', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '8.0', cluster1: '8.0' });
  const orders = await load(fixture);
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();

  expect(await dropKeyIndex(orders, 'k_1')).toBe(false);
  await orders.createIndexes([{ key: { k: 1, a: 1 }, name: 'finer' }]);
  expect(await dropKeyIndex(orders, 'k_1')).toBe(true);
  await instance.commitWhenOffered();
  await expectEqualDatabases(fixture, 'shop');
});

it('the only index of a shard key stays visible where the destination refuses to hide it', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster0: '5.0', cluster1: '8.0' });
  const orders = await load(fixture);
  await orders.createIndexes([{ key: { a: 1 }, name: 'a_1', hidden: true }]);
  await fixture.cluster0.client.db('shop').command({ collMod: 'orders', index: { name: 'k_1', hidden: true } });
  await using instance = await fixture.startInstance({ catalogInterval_seconds: 1 });
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  const { warnings } = await instance.progress();
  expect((warnings ?? []).map(({ name }) => name)).toContain('shardKeyIndexVisible');
  await instance.commitWhenOffered();
  const made = await fixture.cluster1.client.db('shop').collection('orders').indexes();
  expect(made.map(({ name, hidden }) => [name, hidden])).toEqual([
    ['_id_', undefined],
    ['k_1', undefined],
    ['a_1', true],
  ]);
});
