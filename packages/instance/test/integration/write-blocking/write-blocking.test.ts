import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Board } from '../contract/board-fleet.js';
import { Fixture, type Side } from '../contract/fixture.js';
import { blockingReleases } from '../contract/releases.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';

const blocking = startBody({ enableUserWriteBlocking: true });
const blocked = { code: 371 };

let fixture: Fixture;

beforeAll(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, blockingReleases);
});

afterAll(() => fixture.close());

afterEach(async () => {
  for (const side of [fixture.cluster0, fixture.cluster1]) await side.allowWrites();
  await fixture.clear();
});

async function expectBlocked({ shopper }: Side): Promise<void> {
  await expect(shopper.db('shop').collection('orders').insertOne({ n: -1 })).rejects.toMatchObject(blocked);
  await expect(shopper.db('other').createCollection('c')).rejects.toMatchObject(blocked);
}

async function expectOpen({ shopper }: Side): Promise<void> {
  const orders = shopper.db('shop').collection('orders');
  const { insertedId } = await orders.insertOne({ n: -1 });
  await orders.deleteOne({ _id: insertedId });
}

async function load(documents: number): Promise<void> {
  const { client } = fixture.cluster0;
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await client
    .db('shop')
    .collection('orders')
    .insertMany(Array.from({ length: documents }, (_, n) => ({ n })));
}

async function failureOf(instance: ServedInstance): Promise<string> {
  await expect.poll(async () => (await instance.progressReply()).status, { interval: 20 }).toBe(409);
  return String((await instance.progressReply()).body.errorDescription);
}

describe('enableUserWriteBlocking', () => {
  it('closes the destination to users during the sync, and the source after the commit', async () => {
    await load(100);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', blocking);
    await instance.untilCanCommit();
    await expectBlocked(fixture.cluster1);
    await expectOpen(fixture.cluster0);
    await instance.accepted('pause');
    await expectBlocked(fixture.cluster1);
    await instance.accepted('resume');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    const { canWrite } = await instance.untilState('COMMITTED');
    expect(canWrite).toBe(true);
    await expectBlocked(fixture.cluster0);
    await expectOpen(fixture.cluster1);
    await instance.close();
    await using restarted = await fixture.startInstance();
    await restarted.untilState('COMMITTED');
    await expectBlocked(fixture.cluster0);
    await expectOpen(fixture.cluster1);
  });

  it('destinationOnly closes the destination until it opens, and never the source', async () => {
    await load(100);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', startBody({ enableUserWriteBlocking: 'destinationOnly' }));
    await instance.untilCanCommit();
    await expectBlocked(fixture.cluster1);
    await expectOpen(fixture.cluster0);
    await instance.commitWhenOffered();
    await expectOpen(fixture.cluster1);
    await expectOpen(fixture.cluster0);
  });

  it('lets the source accept writes again once the user write block mode is set with global false', async () => {
    await load(2);
    await using instance = await fixture.startInstance();
    await instance.migrate(blocking);
    await expectBlocked(fixture.cluster0);
    await fixture.cluster0.allowWrites();
    await expectOpen(fixture.cluster0);
    await expectOpen(fixture.cluster1);
  });

  it('loses no write that the source acknowledged, including transactions open when it is closed', async () => {
    await load(10);
    const board = new Board();
    await using first = await fixture.startInstance({ id: 'shard0' }, board.seat());
    await using second = await fixture.startInstance({ id: 'shard1' }, board.seat());
    for (const instance of [first, second]) await instance.accepted('start', blocking);
    for (const instance of [first, second]) await instance.untilCanCommit();
    const orders = fixture.cluster0.shopper.db('shop').collection('orders');
    const session = fixture.cluster0.shopper.startSession();
    session.startTransaction();
    await orders.insertOne({ n: 'open' }, { session });
    let acknowledged = 0;
    const writing = (async () => {
      for (;;) {
        await orders.insertOne({ n: 'late', acknowledged });
        acknowledged += 1;
      }
    })();
    const refused = expect(writing).rejects.toMatchObject(blocked);
    for (const instance of [first, second]) await instance.accepted('commit');
    await first.untilState('COMMITTING');
    // A block takes effect once the open transactions have ended; later writes wait behind it.
    await session.commitTransaction();
    await session.endSession();
    await refused;
    for (const instance of [first, second]) await instance.untilState('COMMITTED');
    const copied = fixture.cluster1.client.db('shop').collection('orders');
    expect([await copied.countDocuments({ n: 'late' }), await copied.countDocuments({ n: 'open' })]).toEqual([
      acknowledged,
      1,
    ]);
    expect(await copied.countDocuments()).toBe(await orders.countDocuments());
  });

  it('unblocks the source when the commit fails, leaves the destination closed, and reports both', async () => {
    const orders = fixture.cluster0.client.db('shop').collection('orders');
    await orders.createIndexes([{ key: { n: 1 }, unique: true }]);
    await orders.insertOne({ n: 1 });
    await using instance = await fixture.startInstance({ retry_minutes: 0.05 });
    await instance.accepted('start', blocking);
    await instance.untilCanCommit();
    await fixture.cluster1.client.db('shop').collection('orders').insertOne({ n: 1 });
    await instance.accepted('commit');
    await expect
      .poll(() => failureOf(instance))
      .toMatch(/^1 difference .*in: shop\.orders\. .*The source takes writes again\. The destination refuses/);
    await expectOpen(fixture.cluster0);
    await expectBlocked(fixture.cluster1);
    await instance.close();
    await using restarted = await fixture.startInstance();
    expect(await failureOf(restarted)).toMatch(/The source takes writes again/);
    await expectOpen(fixture.cluster0);
  });

  it('unblocks the source when a process starts that did not run when the commit failed', async () => {
    await load(5);
    await using instance = await fixture.startInstance();
    await instance.accepted('start', blocking);
    await instance.untilCanCommit();
    await instance.close();
    await fixture.cluster0.client.db('admin').command({ setUserWriteBlockMode: 1, global: true });
    const failure = { error: 'retriesExhausted', errorDescription: 'Something was out of reach.' };
    await fixture.cluster1.client
      .db('convoy_metadata')
      .collection('migration')
      .updateOne({}, { $set: { phase: 'committing', failure } });
    await using restarted = await fixture.startInstance();
    await expect
      .poll(() => failureOf(restarted))
      .toMatch(/^Something was out of reach\. The source takes writes again/);
    await expectOpen(fixture.cluster0);
  });
});
