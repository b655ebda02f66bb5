import { compareClusters } from '@convoy/cli/demo/compare';
import type { MongoServerError } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { Fixture, readsShards, type Shape, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';

const throughRouter = { sourceAccess: 'router' };
/** The shape of both clusters, and how the source is read. */
const ways: readonly (readonly [string, Shape, object])[] = [
  ['replica sets', 'replicaSet', throughRouter],
  ['shards, read through the router', { shards: 2 }, throughRouter],
  ['shards, read directly', { shards: 2 }, readsShards],
];
const releases = { cluster0: '8.0', cluster1: '8.0', withUsers: true } as const;
/** For the writes of the test itself. */
const writeConcern = { w: 1 };
/** Enough for a read of all of them to take longer than a millisecond. */
const documents = 20_000;

let fixture: Fixture;

afterEach(() => fixture.close());

async function load(side: Side, shape: Shape): Promise<void> {
  const { client } = side;
  if (shape !== 'replicaSet') await side.shardCollection('shop.orders', { _id: 'hashed' });
  const orders = client.db('shop').collection<{ _id: number; n: number }>('orders');
  await orders.insertMany(Array.from({ length: documents }, (_, n) => ({ _id: n, n })));
  await client
    .db('shop')
    .collection('items')
    .createIndexes([{ key: { sku: 1 }, unique: true }]);
}

/** The code of an error that ends a read of all documents by a user who may not bypass the limit; null without one. */
function codeOfLongRead({ shopper }: Side): Promise<unknown> {
  const read = shopper
    .db('shop')
    .collection('orders')
    .find({ n: { $lt: 0 } });
  return read.toArray().then(
    () => null,
    (error: unknown) => (error as MongoServerError).code,
  );
}

describe.each(ways)('of %s', (_way, shape, settings) => {
  it.each([
    ['a write concern that no set can satisfy', { w: 3 }],
    ['a write concern with a time limit', { w: 'majority', wtimeout: 1 }],
  ])('%s and a read concern that shows orphans change nothing', async (_what, defaultWriteConcern) => {
    fixture = await Fixture.open(shape, shape, releases);
    await load(fixture.cluster0, shape);
    for (const { client } of [fixture.cluster0, fixture.cluster1]) {
      await client
        .db('admin')
        .command({ setDefaultRWConcern: 1, defaultWriteConcern, defaultReadConcern: { level: 'available' } });
    }
    await using instance = await fixture.startInstance(settings);
    await instance.accepted('start', startBody());
    await instance.untilCanCommit();
    const shop = fixture.cluster0.client.db('shop');
    await shop
      .collection<{ _id: number }>('orders')
      .updateMany({ _id: { $lt: 9 } }, { $inc: { n: 1 } }, { writeConcern });
    await shop.command({ create: 'made', writeConcern });
    await instance.commitWhenOffered();
    expect(await compareClusters(fixture.cluster0.client, fixture.cluster1.client)).toMatchObject({ equal: true });
  });

  it('defaultMaxTimeMS limits no read, also where a document filter matches nothing', async () => {
    fixture = await Fixture.open(shape, shape, releases);
    await load(fixture.cluster0, shape);
    const shop = fixture.cluster0.client.db('shop');
    await shop
      .collection<{ _id: number }>('whole')
      .insertMany(Array.from({ length: documents }, (_, n) => ({ _id: n })));
    for (const { client } of [fixture.cluster0, fixture.cluster1])
      await client.db('admin').command({ setClusterParameter: { defaultMaxTimeMS: { readOperations: 1 } } });
    // A router reads the parameter anew every 30 s.
    await expect.poll(() => codeOfLongRead(fixture.cluster0)).toBe(50);
    const documentFilter = [{ database: 'shop', collection: 'orders', filter: { n: { $lt: 0 } } }];
    await using instance = await fixture.startInstance(settings);
    await instance.accepted('start', startBody({ documentFilter }));
    await instance.untilCanCommit();
    await shop.collection<{ _id: number }>('whole').deleteMany({ _id: { $lt: 9 } });
    await instance.commitWhenOffered();
    const copied = fixture.cluster1.client.db('shop');
    expect(await copied.collection('whole').countDocuments()).toBe(documents - 9);
    expect(await copied.collection('orders').countDocuments()).toBe(0);
    expect((await instance.progress()).warnings ?? []).toEqual([]);
  });
});
