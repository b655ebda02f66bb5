import type { Progress } from '@convoy/api/contract/progress';
import { compareClusters } from '@convoy/cli/demo/compare';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import type { InstanceConfig } from '../../../src/config/instance-schema.js';
import { cleanUp, type CleanupPlan } from '../../../src/lifecycle/instance/clean-up.js';
import { Board } from '../contract/board-fleet.js';
import { readsShards, Fixture, type Side } from '../contract/fixture.js';
import { blockingReleases } from '../contract/releases.js';
import { startBody } from '../contract/start-conditions.js';
import { patience_ms } from '../../../../../test/patience.js';

const reversible = startBody({ enableUserWriteBlocking: true, reversible: true });
const blocked = { code: 371 };

/** A sample reads through the router: whole fleets read the shards. */
const ways: [string, object][] = [
  ['through the router', { sourceAccess: 'router' }],
  ...(process.env.CONVOY_TEST_FULL === '1' ? [['directly from the shards', readsShards] as [string, object]] : []),
];

let fixture: Fixture;

beforeEach(async () => {
  fixture = await Fixture.open({ shards: 2 }, { shards: 2 }, blockingReleases);
});

afterEach(() => fixture.close());

async function load(side: Side): Promise<void> {
  const { client } = side;
  await side.shardCollection('shop.orders', { _id: 'hashed' });
  await client
    .db('shop')
    .collection<{ _id: number; n: number }>('orders')
    .insertMany(Array.from({ length: 200 }, (_, n) => ({ _id: n, n })));
  const items = client.db('shop').collection('items');
  await items.createIndexes([
    { key: { sku: 1 }, unique: true },
    { key: { at: 1 }, expireAfterSeconds: 100_000 },
    { key: { hid: 1 }, hidden: true },
  ]);
  await items.insertMany([
    { sku: 1, at: new Date() },
    { sku: 2, at: new Date() },
  ]);
}

function config(): InstanceConfig {
  return parseInstanceConfig({
    flags: { cluster0: fixture.cluster0.connectionString, cluster1: fixture.cluster1.connectionString },
  });
}

async function balancers(): Promise<unknown[]> {
  const sides = [fixture.cluster0, fixture.cluster1];
  return Promise.all(
    sides.map(async ({ client }) => (await client.db('admin').command({ balancerStatus: 1 })).mode as unknown),
  );
}

async function expectEqual(): Promise<void> {
  expect(await compareClusters(fixture.cluster0.client, fixture.cluster1.client)).toMatchObject({
    equal: true,
    differences: [],
  });
}

describe('reverse', () => {
  it.each(ways)(
    'replays what was written since the commit to the former source, and can be committed back repeatedly: read %s',
    async (_, settings) => {
      await load(fixture.cluster0);
      await using instance = await fixture.startInstance(settings);
      await instance.migrate(reversible);
      let [old, present] = [fixture.cluster0, fixture.cluster1];
      for (let turn = 0; turn < 2; turn += 1) {
        const shop = present.shopper.db('shop');
        const orders = shop.collection<{ _id: number; n: number }>('orders');
        await orders.insertOne({ _id: 1000 + turn, n: turn });
        await orders.updateMany({ _id: { $lt: 50 } }, { $inc: { n: 1 } });
        await orders.deleteOne({ _id: 199 - turn });
        // A value that moves from one document to another and back.
        await shop.collection('items').updateOne({ sku: 1 }, { $set: { sku: 3 } });
        await shop.collection('items').updateOne({ sku: 2 }, { $set: { sku: 1 } });
        await shop.collection('items').updateOne({ sku: 3 }, { $set: { sku: 2 } });
        await shop.collection(`new${turn}`).insertOne({ turn });
        await shop.collection('orders').createIndexes([{ key: { [`n${turn}`]: 1 } }]);
        await instance.accepted('reverse');
        const running = await instance.untilState('RUNNING');
        expect(running.canWrite).toBe(false);
        expect(running.directionMapping?.Source).toMatch(turn % 2 === 0 ? /^cluster1: / : /^cluster0: /);
        await expect(old.shopper.db('shop').collection('orders').insertOne({ n: -1 })).rejects.toMatchObject(blocked);
        await instance.untilCanCommit();
        await orders.insertOne({ _id: 2000 + turn, n: turn });
        await instance.accepted('commit');
        await instance.untilState('COMMITTED');
        await expectEqual();
        [old, present] = [present, old];
        await expect(old.shopper.db('shop').collection('orders').insertOne({ n: -1 })).rejects.toMatchObject(blocked);
      }
    },
  );

  it('starts once the whole fleet has the command, and continues after a restart', async () => {
    await load(fixture.cluster0);
    const board = new Board();
    await using first = await fixture.startInstance({ id: 'shard0' }, board.seat());
    let second = await fixture.startInstance({ id: 'shard1' }, board.seat());
    for (const instance of [first, second]) await instance.accepted('start', reversible);
    for (const instance of [first, second]) await instance.untilCanCommit();
    for (const instance of [first, second]) await instance.accepted('commit');
    for (const instance of [first, second]) await instance.untilState('COMMITTED');
    await fixture.cluster1.shopper.db('shop').collection<{ _id: number }>('orders').insertOne({ _id: 5000 });
    await first.accepted('reverse');
    const waiting = await first.untilState('REVERSING');
    expect(waiting).toMatchObject({ info: 'reversing', lagTimeSeconds: null, canCommit: false });
    expect(waiting.warnings?.map(({ name, description }) => [name, description])).toContainEqual([
      'waitingForInstances',
      expect.stringMatching(/reverse.*shard1/) as unknown,
    ]);
    expect((await first.command('reverse')).body.error).toBe('notInThisState');
    expect(await second.progress()).toMatchObject({ state: 'COMMITTED', canWrite: true });
    await second.close();
    second = await fixture.startInstance({ id: 'shard1' }, board.seat());
    await using restarted = second;
    await restarted.untilState('COMMITTED');
    await restarted.accepted('reverse');
    for (const instance of [first, restarted]) await instance.untilCanCommit();
    for (const instance of [first, restarted]) await instance.accepted('commit');
    for (const instance of [first, restarted]) await instance.untilState('COMMITTED');
    expect(await balancers()).toEqual(['off', 'full']);
    await expectEqual();
  });

  it('is exact after a database of the former source has moved to another shard, also on the way back', async () => {
    await load(fixture.cluster0);
    const { client } = fixture.cluster0;
    const home = await client.db('config').collection<{ _id: string; primary: string }>('databases').findOne();
    const shards = await client.db('config').collection<{ _id: string }>('shards').find().toArray();
    const to = shards.find(({ _id }) => _id !== home?.primary)?._id;
    await using instance = await fixture.startInstance({ sourceAccess: 'router' });
    await instance.migrate({ ...reversible, keepBalancer: true });
    await client.db('admin').command({ movePrimary: 'shop', to });
    const items = fixture.cluster1.shopper.db('shop').collection('items');
    await items.insertOne({ sku: 3, at: new Date() });
    await items.dropIndex('hid_1');
    await instance.accepted('reverse');
    await instance.untilCanCommit();
    await items.rename('goods');
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    await expectEqual();
  });

  it('is refused by name if it was not requested, or users wrote to the former source', async () => {
    await load(fixture.cluster0);
    await using instance = await fixture.startInstance();
    await instance.migrate(reversible);
    await fixture.cluster0.allowWrites();
    await fixture.cluster0.shopper.db('elsewhere').collection('orders').insertOne({ n: 1 });
    const { status, body } = await instance.command('reverse');
    expect({ status, error: body.error as unknown, description: body.errorDescription as unknown }).toEqual({
      status: 422,
      error: 'sourceChangedSinceCommit',
      description: expect.stringMatching(/cluster0.*elsewhere\.orders/) as unknown,
    });
    expect((await instance.progress()).state).toBe('COMMITTED');
  });

  it('does not swap the clusters once users have written to the former source after the command', async () => {
    await load(fixture.cluster0);
    {
      await using instance = await fixture.startInstance();
      await instance.migrate(reversible);
    }
    // The processes end between the command and the swap, and an operator gives the reverse up.
    const tasks = fixture.cluster1.client.db('convoy_metadata').collection('tasks');
    await tasks.updateMany({}, { $set: { reverseRequested: 0 } });
    await fixture.cluster0.allowWrites();
    const written = fixture.cluster0.shopper.db('shop').collection<{ _id: number }>('written');
    await written.insertOne({ _id: 1 });
    await fixture.cluster1.shopper.db('shop').collection<{ _id: number }>('written').insertOne({ _id: 2 });
    await using restarted = await fixture.startInstance();
    const outcome = async (): Promise<unknown> => {
      const { error, progress } = (await restarted.progressReply()).body as { error?: string; progress?: Progress };
      return error ?? (['IDLE', 'COMMITTED', 'REVERSING'].includes(progress?.state ?? '') ? null : progress?.state);
    };
    await expect.poll(outcome, { timeout: patience_ms() }).not.toBeNull();
    expect(await outcome()).toBe('sourceChangedSinceCommit');
    expect(await written.distinct('_id')).toEqual([1]);
    await written.insertOne({ _id: 3 });
  });

  it('copies a capped collection again that was enlarged since the commit', async () => {
    const { cluster0, cluster1 } = fixture;
    await cluster0.client.db('shop').createCollection('log', { capped: true, size: 100_000, max: 3 });
    const log = ({ client }: Side) => client.db('shop').collection<{ _id: number }>('log');
    const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => ({ _id: from + n }));
    await log(cluster0).insertMany(numbers(0, 3));
    await using instance = await fixture.startInstance();
    await instance.migrate(reversible);
    await cluster1.client.db('shop').command({ collMod: 'log', cappedMax: 10 });
    await log(cluster1).insertMany(numbers(3, 9));
    await instance.accepted('reverse');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect((await log(cluster0).find().toArray()).map(({ _id }) => _id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    await expectEqual();
  });

  it('is impossible after a cleanup, which starts the balancer that stayed off', async () => {
    await load(fixture.cluster0);
    await using instance = await fixture.startInstance();
    await instance.migrate(reversible);
    await instance.accepted('reverse');
    await instance.untilCanCommit();
    await instance.accepted('commit');
    await instance.untilState('COMMITTED');
    expect(await balancers()).toEqual(['off', 'full']);
    const plans: CleanupPlan[] = [];
    const agree = (plan: CleanupPlan): Promise<boolean> => Promise.resolve(plans.push(plan) > 0);
    expect(await cleanUp(config(), 'cluster0', agree, AbortSignal.timeout(60_000))).toBe(true);
    expect(plans[0]?.found).toBe('The migration from cluster1 to cluster0 is committed.');
    expect(plans[0]?.remarks.join(' ')).toMatch(/can then no longer be reversed/);
    expect(await balancers()).toEqual(['full', 'full']);
    expect([await fixture.cluster0.databases(), await fixture.cluster1.databases()]).toEqual([['shop'], ['shop']]);
    expect((await instance.command('reverse')).body.error).toBe('notReversible');
  });
});
