import { expect, it } from 'vitest';
import { Fixture } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';

it('the only index of a shard key is replaced where the destination refuses to drop it', async () => {
  await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, { cluster1: '8.0' });
  const { client } = fixture.cluster0;
  await client.db('admin').command({ enableSharding: 'shop' });
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { k: 1 } });
  const orders = client.db('shop').collection('orders');
  await orders.insertMany(Array.from({ length: 50 }, (_, n) => ({ k: n, a: n % 5 })));
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
