import { type Document, MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { atStep } from '../at-step.js';
import { expectEqualDatabases } from '../kinds/equal-databases.js';
import { checkNames, convoyCheck } from './convoy-check.js';
import { Fixture, type Shape, type Side } from './fixture.js';
import { areReal } from './releases.js';
import { accepts, refuses, startBody } from './start-conditions.js';

/** Sets a parameter on a replica set, or on every shard of a cluster. */
async function setParameter(side: Side, parameter: Document): Promise<void> {
  for (const address of await addressesOf(side)) {
    const isVersioned = 'requireApiVersion' in parameter;
    await using client = new MongoClient(address, isVersioned ? { serverApi: '1' } : {});
    await client.db('admin').command({ setParameter: 1, ...parameter });
  }
}

async function addressesOf(side: Side): Promise<string[]> {
  // A set that wants a version of the API refuses the question.
  const shards = await side.shards().catch(() => []);
  return shards.length === 0 ? [side.connectionString] : shards.map(({ url }) => url);
}

// Simulated servers do not have these parameters.
const onReal = it.runIf(areReal);

onReal.each(['cluster0', 'cluster1'] as const)(
  'a start is refused by name while notablescan is on at %s, and changes nothing',
  async (name) => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet');
    await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    await setParameter(fixture[name], { notablescan: true });
    const says = new RegExp(`notablescan is on at ${name}: .*Set it to false on every`);
    await checkNames(fixture, { error: 'serverParameterInTheWay', says });
    await using instance = await fixture.startInstance();
    await refuses(fixture, instance, startBody(), { status: 422, error: 'serverParameterInTheWay', says });
    await setParameter(fixture[name], { notablescan: false });
    await accepts(instance, startBody());
  },
);

async function loadShards({ client }: Side): Promise<void> {
  await client.db('admin').command({ shardCollection: 'shop.orders', key: { sk: 'hashed' } });
  const shop = client.db('shop');
  const orders = Array.from({ length: 500 }, (_, _id) => ({ _id, sk: _id, text: 'x'.repeat(100) }));
  await shop.collection<{ _id: number }>('orders').insertMany(orders);
  await shop.collection('items').insertMany([{ sku: 1 }, { sku: 2 }]);
  await shop.collection('items').createIndexes([
    { key: { sku: 1 }, unique: true },
    { key: { at: 1 }, expireAfterSeconds: 100_000 },
  ]);
  await shop.createCollection('log', { capped: true, size: 10_000 });
  await shop.collection('log').insertMany([{ n: 1 }, { n: 2 }]);
}

/** No index helps it. */
const documentFilter = [{ database: 'shop', collection: 'orders', filter: { none: { $exists: false } } }];

onReal.each([
  ['cluster0', 'directly', 'direct'],
  ['cluster0', 'through the router', 'router'],
  ['cluster1', 'directly', 'direct'],
] as const)(
  'notablescan on the shards of %s is in the way of nothing, where the source is read %s',
  async (name, _how, sourceAccess) => {
    await using fixture = await Fixture.open({ shards: 2 }, { shards: 2 });
    await loadShards(fixture.cluster0);
    await setParameter(fixture[name], { notablescan: true });
    expect(await convoyCheck(fixture, { documentFilter }, { sourceAccess })).toMatchObject({ canStart: true });
    await using instance = await fixture.startInstance({ sourceAccess });
    await instance.accepted('start', startBody({ documentFilter }));
    await instance.untilCanCommit();
    const orders = fixture.cluster0.client.db('shop').collection<{ _id: number }>('orders');
    await orders.updateMany({ sk: { $gte: 0 } }, { $set: { changed: true } }, { hint: '_id_' });
    await orders.deleteMany({ _id: { $gt: 450 } });
    await instance.commitWhenOffered();
    await setParameter(fixture[name], { notablescan: false });
    await expectEqualDatabases(fixture, 'shop');
  },
);

onReal.each<['cluster0' | 'cluster1', Shape]>([
  ['cluster0', 'replicaSet'],
  ['cluster1', 'replicaSet'],
  ['cluster1', { shards: 2 }],
])('a commit ends although somebody turns notablescan on at %s (%j) within it', async (name, shape) => {
  await using fixture = await Fixture.open(shape, shape);
  const shop = fixture.cluster0.client.db('shop');
  await shop.collection('orders').insertMany([{ n: 1 }, { n: 2 }]);
  await shop.collection('orders').createIndexes([{ key: { n: 1 }, unique: true }]);
  await using instance = await fixture.startInstance();
  await instance.accepted('start', startBody());
  await instance.untilCanCommit();
  const turned = atStep('commitSealed', () => setParameter(fixture[name], { notablescan: true }));
  await instance.accepted('commit');
  await turned;
  await instance.untilState('COMMITTED');
  await setParameter(fixture[name], { notablescan: false });
  await expectEqualDatabases(fixture, 'shop');
});

onReal.each(['cluster0', 'cluster1'] as const)(
  'a start is refused by name while requireApiVersion is on at %s, and accepted once it is off',
  async (name) => {
    await using fixture = await Fixture.open('replicaSet', 'replicaSet');
    await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
    await using instance = await fixture.startInstance();
    await setParameter(fixture[name], { requireApiVersion: true });
    const failed = (await convoyCheck(fixture)).items.filter(({ result }) => result === 'failed');
    const says = /requireApiVersion refuses commands.*Set it to false on every node, with mongosh --apiVersion 1: /;
    expect(failed).toMatchObject([
      { error: 'serverParameterInTheWay', description: expect.stringMatching(says) as unknown },
    ]);
    const reply = await instance.command('start', startBody());
    expect(reply).toMatchObject({ status: 422, body: { error: 'serverParameterInTheWay' } });
    expect(reply.body.errorDescription).toMatch(/requireApiVersion/);
    await setParameter(fixture[name], { requireApiVersion: false });
    await expect.poll(() => instance.command('start', startBody()), { timeout: 60_000 }).toMatchObject({ status: 200 });
    await instance.untilCanCommit();
    await instance.commitWhenOffered();
  },
);

it.each<[string, Shape]>([
  ['a replica set', 'replicaSet'],
  ['shards', { shards: 2 }],
])('a source that keeps no history is named before a start: %s', async (_what, shape) => {
  await using fixture = await Fixture.open(shape, 'replicaSet');
  await fixture.cluster0.client.db('shop').collection('orders').insertOne({ n: 1 });
  const flags = { sourceAccess: 'direct', partition_seconds: 20 };
  const found = async () =>
    (await convoyCheck(fixture, {}, flags)).items.filter(({ check }) => check === 'serverParameters');
  expect(await found()).toMatchObject([{ result: 'passed' }]);
  await setParameter(fixture.cluster0, { minSnapshotHistoryWindowInSeconds: 0 });
  const says = /too little history.* 0 s.*setParameter: 1, minSnapshotHistoryWindowInSeconds: 300/;
  expect(await found()).toMatchObject([{ result: 'warning', description: expect.stringMatching(says) as unknown }]);
});
