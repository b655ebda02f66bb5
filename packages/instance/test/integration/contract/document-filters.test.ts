import fc from 'fast-check';
import { type Collection, Long } from 'mongodb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isFullRun, testSeed } from '../../../../../test/seed.js';
import { Fixture, readsShards, type Shape } from './fixture.js';
import type { ServedInstance } from './served-instance.js';
import { startBody } from './start-conditions.js';

interface Row {
  _id: number;
  n: unknown;
}

interface Order {
  _id: number;
  region: string;
  total: number;
}

const query = { region: 'EU', total: { $gte: 10 } };
const documentFilter = [{ database: 'shop', collection: 'orders', filter: query }];
const ordersMax = 200;
/** Before the copy is done, and after it. */
const changesOfPhase = isFullRun ? 300 : 75;

const change = fc.record({
  id: fc.nat({ max: ordersMax + 50 }),
  kind: fc.constantFrom('insert', 'set', 'move', 'replace', 'delete'),
  region: fc.constantFrom('EU', 'US'),
  total: fc.integer({ min: 0, max: 20 }),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

async function apply(orders: Collection<Order>, { id: _id, kind, region, total }: Change): Promise<void> {
  if (kind === 'insert') await orders.insertOne({ _id, region, total }).catch(() => undefined);
  else if (kind === 'set') await orders.updateOne({ _id }, { $set: { total } });
  else if (kind === 'move') await orders.updateOne({ _id }, { $set: { region }, $inc: { total: 1 } });
  else if (kind === 'replace') await orders.replaceOne({ _id }, { region, total });
  else await orders.deleteOne({ _id });
}

const matching = (orders: Collection<Order>) => orders.find(query).sort({ _id: 1 }).toArray();
const all = (orders: Collection<Order>) => orders.find().sort({ _id: 1 }).toArray();

/** What does not depend on how the source is read runs on one of them, and on all with CONVOY_TEST_FULL=1. */
describe.each<[string, Shape, boolean, object]>([
  ['a replica set', 'replicaSet', false, {}],
  ['sharded clusters', { shards: 2 }, false, {}],
  ['sharded clusters, directly from the shards', { shards: 2 }, true, readsShards],
])('documentFilter on %s', (_what, shape, withUsers, settings) => {
  let fixture: Fixture;

  beforeAll(async () => {
    fixture = await Fixture.open(shape, shape, { withUsers });
  });

  afterAll(() => fixture.close());
  afterEach(() => fixture.clear());

  function sides(): [Collection<Order>, Collection<Order>] {
    const on = (side: 'cluster0' | 'cluster1') => fixture[side].client.db('shop').collection<Order>('orders');
    return [on('cluster0'), on('cluster1')];
  }

  async function load(): Promise<void> {
    const shop = fixture.cluster0.client.db('shop');
    if (shape !== 'replicaSet') {
      const admin = fixture.cluster0.client.db('admin');
      await admin.command({ enableSharding: 'shop' });
      await admin.command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
    }
    await shop
      .collection<Order>('orders')
      .insertMany(
        Array.from({ length: ordersMax }, (_, _id) => ({ _id, region: _id % 2 === 0 ? 'EU' : 'US', total: _id % 20 })),
      );
    await shop.collection('other').insertMany([{ region: 'US' }, { region: 'EU' }]);
  }

  async function started(): Promise<ServedInstance> {
    const instance = await fixture.startInstance(settings);
    await instance.accepted('start', startBody({ documentFilter }));
    return instance;
  }

  it('documents that move into or out of the filter join or leave the destination', async () => {
    await load();
    const [source, destination] = sides();
    const changes = fc.sample(change, { seed: testSeed, numRuns: 2 * changesOfPhase });
    await using instance = await started();
    for (const one of changes.slice(0, changesOfPhase)) await apply(source, one);
    await instance.untilCanCommit();
    for (const one of changes.slice(changesOfPhase)) await apply(source, one);
    await instance.commitWhenOffered();
    const expected = await matching(source);
    expect(expected.length).toBeGreaterThan(0);
    expect(await all(destination), `seed ${testSeed}`).toEqual(expected);
    expect(await fixture.cluster1.client.db('shop').collection('other').countDocuments()).toBe(2);
  });

  it.runIf(isFullRun || settings === readsShards)(
    'a document that is outside the filter on the destination is found by the verifier',
    async () => {
      await load();
      const [source, destination] = sides();
      await using instance = await started();
      await instance.untilCanCommit();
      const [outside] = await source.find({ region: 'US' }).limit(1).toArray();
      if (outside === undefined) throw new Error('no document outside');
      await destination.insertOne(outside);
      await instance.until('the verifier has removed it or reports it', ({ commitBlockers }) =>
        (commitBlockers ?? []).some(({ reason }) => reason === 'mismatches'),
      );
      await expect.poll(() => destination.countDocuments({ region: 'US' })).toBe(0);
      await instance.commitWhenOffered();
      expect(await all(destination)).toEqual(await matching(source));
    },
  );

  it.runIf(isFullRun || shape === 'replicaSet')(
    'a rename from or to a filtered name ends the migration by name',
    async () => {
      await load();
      await using instance = await started();
      await instance.untilCanCommit();
      await fixture.cluster0.client.db('shop').collection('orders').rename('orders_old');
      await expect.poll(async () => (await instance.progressReply()).body.error as unknown).toBe('ddlNotSupported');
    },
  );
});

describe('documentFilter', () => {
  let fixture: Fixture;

  beforeAll(async () => {
    fixture = await Fixture.open('replicaSet', 'replicaSet');
    const shop = fixture.cluster0.client.db('shop');
    await shop.collection('orders').insertOne({ a: 1 });
    await shop.createCollection('log', { capped: true, size: 4096 });
    await shop.createCollection('seen', { viewOn: 'orders', pipeline: [] });
  });

  afterAll(() => fixture.close());

  it.each([
    ['an operator that needs more than the document', 'orders', { $where: 'true' }, /\$where/],
    ['a query that the server refuses', 'orders', { a: { $size: 'x' } }, /The source refuses/],
    ['a pattern that the server refuses', 'orders', { a: { $regex: '(' } }, /The source refuses/],
    ['a capped collection', 'log', { a: 1 }, /capped/],
    ['a view', 'seen', { a: 1 }, /no collection of this migration/],
    ['an unknown collection', 'order', { a: 1 }, /no collection of this migration/],
  ])('refuses %s', async (_what, collection, filter, says) => {
    await using instance = await fixture.startInstance();
    const body = startBody({ documentFilter: [{ database: 'shop', collection, filter }] });
    const reply = await instance.command('start', body);
    expect(reply).toMatchObject({ status: 422, body: { success: false, error: 'documentFilterInvalid' } });
    expect(reply.body.errorDescription).toMatch(says);
    expect((await instance.progress()).state).toBe('IDLE');
  });

  it('cannot be reversed', async () => {
    await using instance = await fixture.startInstance();
    const reply = await instance.command(
      'start',
      startBody({ documentFilter, reversible: true, enableUserWriteBlocking: true }),
    );
    expect(reply.body).toMatchObject({ success: false, error: 'documentFilterWithReversible' });
  });
});

it('a document filter compares values as they are: integers beyond 2^53, and what looks like a condition', async () => {
  await using fixture = await Fixture.open('replicaSet', 'replicaSet');
  const orders = fixture.cluster0.client.db('shop').collection<Row>('orders');
  const large = Long.fromString('9007199254740993');
  const rows = [{ n: large }, { n: large.subtract(1) }, { n: { $gt: 'a' } }, { n: 'b' }].map((row, _id) => ({
    _id,
    ...row,
  }));
  await orders.insertMany(rows);
  const wanted = { $or: [{ n: { $numberLong: large.toString() } }, { n: { $eq: { $gt: 'a' } } }] };
  await using instance = await fixture.startInstance();
  const filter = { database: 'shop', collection: 'orders', filter: wanted };
  await instance.accepted('start', startBody({ documentFilter: [filter] }));
  await instance.untilCanCommit();
  await orders.insertMany(rows.map((row) => ({ ...row, _id: row._id + 10 })));
  for (const { _id, n } of rows) await orders.replaceOne({ _id: (_id + 1) % rows.length }, { n });
  await instance.commitWhenOffered();
  const arrived = await fixture.cluster1.client.db('shop').collection('orders').find().sort({ _id: 1 }).toArray();
  expect(arrived.map(({ _id }) => _id as unknown)).toEqual([1, 3, 10, 12]);
});
