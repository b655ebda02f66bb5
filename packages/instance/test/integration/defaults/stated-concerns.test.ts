import { Long, MinKey } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { takenBy } from '../../../src/cluster/driver/commands.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { cleanUp } from '../../../src/lifecycle/instance/clean-up.js';
import { Fixture, type Shape, type Side } from '../contract/fixture.js';
import { startBody } from '../contract/start-conditions.js';
import { atStep } from '../at-step.js';
import { isReal, makeAccess, makeSettings } from '../inventory/everything.js';
import { type Sent, sentCommands } from './sent-commands.js';

let fixture: Fixture;

afterEach(() => fixture.close());

async function load({ client }: Side, shape: Shape): Promise<void> {
  const shop = client.db('shop');
  if (shape !== 'replicaSet')
    await client.db('admin').command({ shardCollection: 'shop.orders', key: { _id: 'hashed' } });
  await shop.collection<{ _id: number }>('orders').insertMany(Array.from({ length: 300 }, (_, n) => ({ _id: n, n })));
  const items = shop.collection('items');
  await items.createIndexes([
    { key: { sku: 1 }, unique: true },
    { key: { at: 1 }, expireAfterSeconds: 100_000 },
  ]);
  await items.insertMany([{ sku: 1 }, { sku: 2 }]);
  await shop.createCollection('log', { capped: true, size: 10_000 });
  await shop.collection('log').insertOne({ n: 1 });
  await shop.createCollection('view', { viewOn: 'items', pipeline: [{ $match: { sku: 1 } }] });
  await shop.collection('dropped').insertOne({ n: 1 });
}

/** What a commit takes along besides data. */
async function loadOthers(side: Side, shape: Shape): Promise<string[]> {
  await makeAccess(side);
  await makeSettings(side);
  const kinds = ['usersAndRoles', 'defaultConcerns', 'clusterParameters', ...(isReal ? ['querySettings'] : [])];
  if (shape === 'replicaSet') return kinds;
  const admin = side.client.db('admin');
  const [shard] = await side.shardIds();
  await admin.command({ addShardToZone: shard, zone: 'first' });
  const range = { min: { _id: new MinKey() }, max: { _id: Long.ZERO } };
  await admin.command({ updateZoneKeyRange: 'shop.orders', ...range, zone: 'first' });
  const collections = side.client.db('config').collection<{ _id: string }>('collections');
  await collections.updateOne({ _id: 'shop.orders' }, { $set: { noBalance: true } });
  return [...kinds, 'zones', 'balancing'];
}

/** Writes and changes of definitions that the instance has to follow. */
async function change({ client }: Side): Promise<void> {
  const shop = client.db('shop');
  await shop.collection<{ _id: number }>('orders').updateMany({ _id: { $lt: 50 } }, { $set: { changed: true } });
  await shop.collection<{ _id: number }>('orders').deleteMany({ _id: { $gt: 250 } });
  await shop.collection('dropped').drop();
  await shop.createCollection('made');
  await shop.collection('made').rename('renamed');
  await shop.collection('items').createIndexes([{ key: { later: 1 } }]);
  await shop.collection('items').dropIndex('later_1');
  await shop.command({ collMod: 'log', cappedSize: 20_000 });
}

/** What a command leaves to the defaults of its cluster, or states wrongly. */
function fault({ name, command, options }: Sent): string[] {
  const { writeConcern, readConcern, maxTimeMS } = command as Record<string, { level?: unknown } | undefined>;
  const shown = JSON.stringify({ writeConcern, readConcern, maxTimeMS, options: options.readPreference as unknown });
  const takes = takenBy(command);
  const isRight =
    takes === 'writeConcern'
      ? shown.startsWith('{"writeConcern":{"w":"majority"}') && readConcern === undefined
      : takes === 'readConcern'
        ? writeConcern === undefined && readConcern?.level !== undefined && maxTimeMS !== undefined
        : takes === 'neither' && writeConcern === undefined && readConcern === undefined;
  return isRight && options.readPreference === undefined ? [] : [`${name} ${shown}`];
}

it.each<[Shape, Shape]>([
  ['replicaSet', 'replicaSet'],
  [{ shards: 2 }, { shards: 2 }],
])('every command of a migration and its reverse states what it takes: %j to %j', async (from, to) => {
  fixture = await Fixture.open(from, to, { cluster0: '8.0', cluster1: '8.0', withUsers: true });
  await load(fixture.cluster0, from);
  const carry = await loadOthers(fixture.cluster0, from);
  const sent = sentCommands();
  const settings = from === 'replicaSet' ? {} : { sourceAccess: 'router' };
  await using instance = await fixture.startInstance(settings);
  await instance.accepted('start', startBody({ carry, enableUserWriteBlocking: true, reversible: true }));
  await instance.untilCanCommit();
  await change(fixture.cluster0);
  await instance.untilCanCommit();
  await instance.commitWhenOffered();
  await instance.accepted('reverse');
  await instance.untilCanCommit();
  const committed = atStep('committed', () => undefined);
  await instance.commitWhenOffered();
  await committed;
  await instance.close();
  const { connectionString: cluster0 } = fixture.cluster0;
  const { connectionString: cluster1 } = fixture.cluster1;
  const config = parseInstanceConfig({ flags: { cluster0, cluster1 } });
  expect(await cleanUp(config, 'cluster0', () => Promise.resolve(true), new AbortController().signal)).toBe(true);
  expect([...new Set(sent.flatMap(fault))]).toEqual([]);
  expect([...new Set(sent.map(({ name }) => name))]).toEqual(
    expect.arrayContaining([
      ...['aggregate', 'find', 'count', 'getMore', 'insert', 'update', 'delete', 'findAndModify', 'appendOplogNote'],
      ...['create', 'createIndexes', 'collMod', 'drop', 'renameCollection', 'setUserWriteBlockMode', 'listCollections'],
      ...(from === 'replicaSet' ? [] : ['shardCollection', 'enableSharding', 'updateZoneKeyRange', 'balancerStop']),
    ]),
  );
});
