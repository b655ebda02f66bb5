import { type Document, Long, MinKey } from 'mongodb';
import { afterEach, expect, it } from 'vitest';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { takenBy } from '../../../src/cluster/driver/commands.js';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { type EndedComparison, runComparison } from '../../../src/process/comparison.js';
import { cleanUp } from '../../../src/lifecycle/instance/clean-up.js';
import { Fixture, type Shape, type Side } from '../contract/fixture.js';
import { metadataDatabase } from '../../../src/store/metadata.js';
import { startBody } from '../contract/start-conditions.js';
import { atStep } from '../at-step.js';
import { isReal, makeAccess, makeSettings } from '../inventory/everything.js';
import { type Sent, sentCommands } from './sent-commands.js';

let fixture: Fixture;

afterEach(() => fixture.close());

/** A collection with a collation, which a command that states none takes. */
const collated = 'names';

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
  await shop.createCollection(collated, { collation: { locale: 'en', strength: 2 } });
  if (shape !== 'replicaSet')
    await client
      .db('admin')
      .command({ shardCollection: `shop.${collated}`, key: { town: 1 }, collation: { locale: 'simple' } });
  await shop
    .collection<{ _id: string }>(collated)
    .insertMany(['a', 'b', 'c'].map((_id) => ({ _id, town: _id.toUpperCase() })));
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
  await shop.collection<{ _id: string }>(collated).updateOne({ _id: 'a' }, { $set: { changed: true } });
  await shop.collection<{ _id: string }>(collated).deleteOne({ _id: 'b' });
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

/** What sizes and places work, or is about one node: 0101 says why any member's answer will do. */
const isOfOneMember = ({ name, database, command }: Sent): boolean => {
  const [stage = ''] = Object.keys((command.pipeline as Document[] | undefined)?.[0] ?? {});
  if (['$currentOp', '$indexStats', '$sample', '$querySettings'].includes(stage)) return true;
  const isOfOplog = database === 'local' && Object.values(command)[0] === 'oplog.rs';
  const isSize = name === 'count' && command.query === undefined;
  // Whether a view can be opened.
  const readsNothing = (command.cursor as Document | undefined)?.batchSize === 0;
  return isOfOplog || isSize || readsNothing;
};

/** A read that Convoy builds on, and that sees what a majority does not have. */
function belowMajority(sent: Sent): string[] {
  const { name, database, command } = sent;
  if (takenBy(command) !== 'readConcern' || isOfOneMember(sent)) return [];
  const { level } = command.readConcern as { level: string };
  if (['majority', 'snapshot', 'linearizable'].includes(level)) return [];
  const shown = { ...command, lsid: undefined, $clusterTime: undefined };
  return [`${name} of ${database} at ${level}: ${JSON.stringify(shown).slice(0, 200)}`];
}

/**
 * A condition that a collation decides about, without one. Which `_id`s are equal is for that of the collection to say,
 * and what reads all documents has no condition.
 */
function leavesCollation({ name, command }: Sent): string[] {
  const { filter = {}, query = {}, pipeline = [], collation } = command as Record<string, Document | undefined>;
  if (Object.values(command)[0] !== collated || collation !== undefined) return [];
  const isSampled = (pipeline as Document[]).some((stage) => '$sample' in stage || '$sort' in stage);
  const fields = Object.keys({ ...filter, ...query }).filter((field) => field !== '_id' && field !== '$or');
  return isSampled || fields.length > 0 ? [`${name} ${fields.join()}`] : [];
}

/** Compares as `convoy verify` does. */
async function verify({ cluster0, cluster1 }: Fixture): Promise<EndedComparison> {
  using folder = ScratchFolder.create('comparison');
  const flags = { cluster0: cluster0.connectionString, cluster1: cluster1.connectionString };
  const everything = { includeNamespaces: [], excludeNamespaces: [], namespaceRemap: undefined };
  const rule = { settle_ms: 100, looksMin: 2 };
  return await runComparison(
    {
      config: parseInstanceConfig({ flags }),
      source: 'cluster0',
      destination: 'cluster1',
      filter: everything,
      options: { rule, generationsMax: 5, readers: 2, record_ms: 1_000, shardKeys: true },
      folder: folder.file('state'),
      restart: false,
    },
    { began: () => undefined, retry: () => undefined, ended: () => Promise.resolve() },
    AbortSignal.timeout(60_000),
  );
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
  const migrated = sent.length;
  expect(await verify(fixture)).toMatchObject({ verdict: 'equal' });
  expect(sent.length).toBeGreaterThan(migrated);
  const { connectionString: cluster0 } = fixture.cluster0;
  const { connectionString: cluster1 } = fixture.cluster1;
  const config = parseInstanceConfig({ flags: { cluster0, cluster1 } });
  expect(await cleanUp(config, 'cluster0', () => Promise.resolve(true), new AbortController().signal)).toBe(true);
  expect([...new Set(sent.flatMap(fault))]).toEqual([]);
  expect([...new Set(sent.flatMap(belowMajority))]).toEqual([]);
  expect([...new Set(sent.flatMap(leavesCollation))]).toEqual([]);
  for (const database of ['admin', 'config', metadataDatabase])
    expect(sent.filter((one) => one.database === database && takenBy(one.command) === 'readConcern')).not.toEqual([]);
  expect([...new Set(sent.map(({ name }) => name))]).toEqual(
    expect.arrayContaining([
      ...['aggregate', 'find', 'count', 'getMore', 'insert', 'update', 'delete', 'findAndModify', 'appendOplogNote'],
      ...['create', 'createIndexes', 'collMod', 'drop', 'renameCollection', 'setUserWriteBlockMode', 'listCollections'],
      ...(from === 'replicaSet' ? [] : ['shardCollection', 'enableSharding', 'updateZoneKeyRange', 'balancerStop']),
    ]),
  );
});
