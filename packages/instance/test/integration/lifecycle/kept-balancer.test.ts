import fc from 'fast-check';
import type { Collection, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { isFullRun, testSeed } from '../../../../../test/seed.js';
import { Board } from '../contract/board-fleet.js';
import { Fixture } from '../contract/fixture.js';
import { anyReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { withoutLastShard } from './last-shard.js';

interface Order {
  _id: number;
  k: number;
  n: number;
}

const ordersMax = 300;
/** While the source is migrated; it gains its shard after a fourth of them. */
const changesMax = isFullRun ? 400 : 200;
const names = ['orders', 'hashed', 'plain'] as const;

const change = fc.record({
  id: fc.nat({ max: ordersMax + 100 }),
  kind: fc.constantFrom('insert', 'add', 'addToMany', 'replace', 'delete', 'moveChunk', 'moveChunk', 'movePrimary'),
  name: fc.constantFrom(...names),
  k: fc.integer({ min: 0, max: 9 }),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

const passOver = (): undefined => undefined;

/** Users and a balancer: what the servers refuse at the moment is passed over. */
async function apply(client: MongoClient, { id: _id, kind, name, k }: Change): Promise<void> {
  const collection: Collection<Order> = client.db('shop').collection<Order>(name);
  const admin = client.db('admin');
  const to = `shard${k % 3}`;
  if (kind === 'insert') await collection.insertOne({ _id, k: _id % 10, n: k }).catch(passOver);
  else if (kind === 'add') await collection.updateOne({ _id, k: _id % 10 }, { $inc: { n: 1 } });
  else if (kind === 'addToMany') await collection.updateMany({ k }, { $inc: { n: 1 } });
  else if (kind === 'replace') await collection.replaceOne({ _id, k: _id % 10 }, { k: _id % 10, n: k });
  else if (kind === 'delete') await collection.deleteOne({ _id, k: _id % 10 });
  else if (kind === 'movePrimary') await admin.command({ movePrimary: 'shop', to }).catch(passOver);
  else if (name === 'orders') await admin.command({ moveChunk: 'shop.orders', find: { k }, to }).catch(passOver);
}

async function load(client: MongoClient): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ enableSharding: 'shop', primaryShard: 'shard0' });
  await admin.command({ shardCollection: 'shop.orders', key: { k: 1 } });
  await admin.command({ shardCollection: 'shop.hashed', key: { _id: 'hashed' } });
  for (const k of [2, 4, 6, 8]) await admin.command({ split: 'shop.orders', middle: { k } });
  for (const name of names)
    await client
      .db('shop')
      .collection<Order>(name)
      .insertMany(Array.from({ length: ordersMax }, (_, _id) => ({ _id, k: _id % 10, n: 0 })));
}

it(
  'a source whose chunks and databases move, and which gains a shard, is migrated exactly',
  async () => {
    await using fixture = await Fixture.open({ shards: 3 }, { shards: 2 }, anyReleases);
    const { client } = fixture.cluster0;
    const addShard = await withoutLastShard(fixture.cluster0);
    await load(client);
    await client.db('admin').command({ balancerStart: 1 });
    const board = new Board();
    const flags = { sourceAccess: 'router', catalogInterval_seconds: 1 };
    await using one = await fixture.startInstance({ ...flags, id: 'shard0' }, board.seat());
    await using other = await fixture.startInstance({ ...flags, id: 'shard1' }, board.seat());
    const changes = fc.sample(change, { seed: testSeed, numRuns: changesMax });
    for (const instance of [one, other]) await instance.accepted('start', startBody({ keepBalancer: true }));
    for (const [index, each] of changes.entries()) {
      if (index === changesMax / 4) await addShard();
      await apply(client, each);
    }
    for (const instance of [one, other]) await instance.untilCanCommit();
    expect((await client.db('admin').command({ balancerStatus: 1 })).mode).toBe('full');
    for (const instance of [one, other]) await instance.accepted('commit');
    for (const instance of [one, other]) await instance.untilState('COMMITTED');
    for (const name of names) {
      const [found, expected] = await Promise.all(
        [fixture.cluster1, fixture.cluster0].map((side) =>
          side.client.db('shop').collection<Order>(name).find().sort({ _id: 1 }).toArray(),
        ),
      );
      expect(found, name).toEqual(expected);
    }
  },
  // A real server takes up to a second for each move.
  300_000,
);

it.each([
  ['a source that is read from its shards', { shards: 2 } as const],
  ['a replica set', 'replicaSet' as const],
])('keepBalancer is refused for %s', async (_what, shape) => {
  await using fixture = await Fixture.open(shape, shape);
  await using instance = await fixture.startInstance({ sourceAccess: 'direct' });
  expect((await instance.command('start', startBody({ keepBalancer: true }))).body).toMatchObject({
    error: 'keepBalancerNeedsRouter',
  });
});
