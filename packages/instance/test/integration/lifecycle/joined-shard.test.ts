import { expect, it } from 'vitest';
import { patience_ms } from '../../../../../test/patience.js';
import { Board } from '../contract/board-fleet.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { withoutLastShard } from './last-shard.js';

interface Order {
  _id: number;
  n: number;
}

/** Collections so small that one task reads each of them. */
const smallCollections = Array.from({ length: 8 }, (_, index) => `small${index}`);

async function load({ client }: Side): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  for (const name of ['orders', ...smallCollections])
    await client
      .db('shop')
      .collection<Order>(name)
      .insertMany(Array.from({ length: 30 }, (_, _id) => ({ _id, n: 0 })));
}

const documentsOf = async ({ client }: Side, database: string, name: string): Promise<Order[]> =>
  client.db(database).collection<Order>(name).find().sort({ _id: 1 }).toArray();

it('a shard that joins behind the routers changes no task of a process that starts later', async () => {
  await using fixture = await Fixture.open({ shards: 3 }, { shards: 2 });
  const { cluster0, cluster1 } = fixture;
  const addShard = await withoutLastShard(cluster0);
  await load(cluster0);
  const board = new Board();
  const flags = { sourceAccess: 'router', catalogInterval_seconds: 1 };
  const start = (id: string) => fixture.startInstance({ ...flags, id }, board.seat());
  await using one = await start('shard0');
  const other = await start('shard1');
  for (const instance of [one, other])
    await instance.accepted('start', startBody({ verification: { enabled: false } }));
  for (const instance of [one, other]) await instance.untilCanCommit();
  await other.close();
  await addShard();
  await cluster0.client.db('admin').command({ enableSharding: 'late', primaryShard: 'shard2' });
  await cluster0.client.db('late').collection<Order>('orders').insertOne({ _id: 1, n: 1 });
  await using again = await start('shard1');
  for (const name of ['orders', ...smallCollections])
    await cluster0.client
      .db('shop')
      .collection<Order>(name)
      .updateMany({}, { $inc: { n: 1 } });
  for (const instance of [one, again]) await instance.untilCanCommit();
  for (const instance of [one, again]) await instance.accepted('commit');
  for (const instance of [one, again]) await instance.untilState('COMMITTED');
  for (const name of ['orders', ...smallCollections])
    expect(await documentsOf(cluster1, 'shop', name), name).toEqual(await documentsOf(cluster0, 'shop', name));
  expect(await documentsOf(cluster1, 'late', 'orders')).toEqual([{ _id: 1, n: 1 }]);
});

it.each([
  ['the source, which is read from its shards', { shards: 3 }, { shards: 2 }, 'cluster0' as const],
  ['the destination', { shards: 2 }, { shards: 3 }, 'cluster1' as const],
])('a shard that joins %s ends the migration by name', async (_what, source, destination, side) => {
  await using fixture = await Fixture.open(source, destination);
  const addShard = await withoutLastShard(fixture[side]);
  await load(fixture.cluster0);
  await using instance = await fixture.startInstance({ sourceAccess: 'direct', catalogInterval_seconds: 3_600 });
  await instance.accepted('start', startBody({ verification: { enabled: false } }));
  await instance.untilCanCommit();
  await addShard();
  await fixture.cluster0.client.db('admin').command({ enableSharding: 'late', primaryShard: 'shard1' });
  await fixture.cluster0.client.db('late').collection<Order>('orders').insertOne({ _id: 1, n: 1 });
  await instance.command('commit');
  await expect
    .poll(async () => (await instance.progressReply()).body.error as unknown, { timeout: patience_ms() })
    .toBe('topologyChanged');
});

it('a shard that leaves a source that is read through its routers ends the migration by name', async () => {
  await using fixture = await Fixture.open({ shards: 3 }, { shards: 2 });
  await load(fixture.cluster0);
  await using instance = await fixture.startInstance({ sourceAccess: 'router', catalogInterval_seconds: 1 });
  await fixture.cluster0.client.db('shop').collection('orders').drop();
  await instance.accepted('start', startBody({ verification: { enabled: false } }));
  await instance.untilCanCommit();
  await withoutLastShard(fixture.cluster0);
  await expect
    .poll(async () => (await instance.progressReply()).body.errorDescription as unknown, { timeout: patience_ms() })
    .toMatch(/shards left cluster0: shard2/);
});
