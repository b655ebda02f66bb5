import { type MongoClient, Timestamp } from 'mongodb';
import type { TestCluster } from '@convoy/testbed/cluster/test-cluster';
import { eachShard, onShards } from '../shards.js';
import { UndefinedRelay } from './undefined-relay.js';

/** Large enough for a change in the middle of its copy. */
export const largeDocuments = 3_000;
const smallDocuments = 40;
const padding = 'x'.repeat(900);
/** Expired many years ago. */
const longAgo = new Date(0);

export const database = 'shop';
/** A database without sharded collections: it may move to another shard while it is migrated. */
export const movedDatabase = 'moved';
const shardKeyField = 'sk';

/** A document of any of the collections. */
interface Item {
  _id: number | string;
  [field: string]: unknown;
}

function numbered(count: number): Item[] {
  return Array.from({ length: count }, (_, n) => ({ _id: n, [shardKeyField]: n, text: padding }));
}

/** Data of every release; each collection has one behaviour that is special to servers. */
export async function loadSource(client: MongoClient, cluster: TestCluster): Promise<void> {
  const admin = client.db('admin');
  await admin.command({ balancerStop: 1 });
  await admin.command({ enableSharding: database });
  for (const name of ['large', 'dropped', 'renamed', 'gaps', 'built']) await shardOverBoth(client, cluster, name);
  const shop = client.db(database);
  await shop.collection<Item>('large').insertMany(numbered(largeDocuments));
  for (const name of ['dropped', 'renamed', 'built'])
    await shop.collection<Item>(name).insertMany(numbered(smallDocuments));
  await insertGaps(client, cluster);
  await shop
    .collection<Item>('sessions')
    .insertMany(Array.from({ length: smallDocuments }, (_, n) => ({ _id: n, at: longAgo })));
  await shop.collection('sessions').createIndexes([{ key: { at: 1 }, name: 'at_1', expireAfterSeconds: 60 }]);
  await shop.createCollection('oldView', { viewOn: 'large', pipeline: [] });
  await client
    .db(movedDatabase)
    .collection<Item>('items')
    .insertMany(Array.from({ length: smallDocuments }, (_, n) => ({ _id: n })));
}

/** Below 20 on one shard, from 20 on on the other; what has no number lies below. */
async function shardOverBoth(client: MongoClient, cluster: TestCluster, name: string): Promise<void> {
  const [low = '', high = ''] = cluster.shardIds;
  const namespace = `${database}.${name}`;
  const admin = client.db('admin');
  const middle = name === 'large' ? largeDocuments / 2 : smallDocuments / 2;
  await admin.command({ shardCollection: namespace, key: { [shardKeyField]: 1 } });
  await admin.command({ split: namespace, middle: { [shardKeyField]: middle } });
  const { primary } =
    (await client.db('config').collection<{ _id: string; primary: string }>('databases').findOne({ _id: database })) ??
    {};
  await admin.command({ moveChunk: namespace, find: { [shardKeyField]: middle }, to: primary === low ? high : low });
}

/**
 * Documents whose shard key is missing, null and undefined; three of each, one of which is changed and one deleted
 * later.
 */
async function insertGaps(client: MongoClient, cluster: TestCluster): Promise<void> {
  const kinds = ['missing', 'null', 'undefined'] as const;
  const documents = (kind: string): Item[] =>
    ['stays', 'changes', 'goes'].map((fate) => ({
      _id: `${kind} ${fate}`,
      ...(kind === 'missing' ? {} : { [shardKeyField]: null }),
      fate,
    }));
  await using relay = await UndefinedRelay.open(cluster.connectionStringOf('root'), shardKeyField);
  for (const kind of kinds)
    await (kind === 'undefined' ? relay.client : client)
      .db(database)
      .collection<Item>('gaps')
      .insertMany(documents(kind));
}

/**
 * Changes documents of every collection that is still there, and one at a zero time, which only an update leaves as it
 * is.
 */
export async function changeDocuments(client: MongoClient): Promise<void> {
  const shop = client.db(database);
  await shop.collection('gaps').updateMany({ fate: 'changes' }, { $set: { changed: 1 } });
  await shop.collection('gaps').deleteMany({ fate: 'goes' });
  await shop
    .collection('largeRenamed')
    .updateMany({ [shardKeyField]: { $lt: 50 } }, { $set: { changed: 1 }, $unset: { text: '' } });
  await shop
    .collection('built')
    .updateOne({ [shardKeyField]: 1 }, [{ $set: { zero: { $literal: new Timestamp(0n) } } }]);
  await client.db(movedDatabase).collection<Item>('items').insertOne({ _id: smallDocuments });
}

/**
 * A sharded collection is dropped, one is renamed, a view comes and one goes, and a database moves to the other shard.
 */
export async function runDdl(client: MongoClient, cluster: TestCluster): Promise<void> {
  const shop = client.db(database);
  await shop.collection('dropped').drop();
  await shop.collection('renamed').rename('renamedLater');
  await shop.createCollection('newView', { viewOn: 'largeRenamed', pipeline: [{ $match: { [shardKeyField]: 1 } }] });
  await shop.collection('oldView').drop();
  const { primary } =
    (await client
      .db('config')
      .collection<{ _id: string; primary: string }>('databases')
      .findOne({ _id: movedDatabase })) ?? {};
  await client
    .db('admin')
    .command({ movePrimary: movedDatabase, to: cluster.shardIds.find((id) => id !== primary) ?? '' });
}

/** Keeps servers from deleting expired documents, if they do. */
export function stopExpiry(cluster: TestCluster): Promise<void> {
  return eachShard(cluster, async (shard) => {
    const admin = shard.db('admin');
    const known = await admin.command({ getParameter: 1, ttlMonitorEnabled: 1 }).catch(() => null);
    if (known !== null) await admin.command({ setParameter: 1, ttlMonitorEnabled: false });
  });
}

/** Stops index builds before their first document, or continues them. */
export function holdBuilds(cluster: TestCluster, mode: 'alwaysOn' | 'off'): Promise<void> {
  return onShards(cluster, { configureFailPoint: 'hangAfterInitializingIndexBuild', mode });
}

/** Takes the role from the migrator with which it may read shards of 8.0 without their router. */
export function refuseDirectReads(cluster: TestCluster): Promise<void> {
  return eachShard(cluster, async (shard) => {
    await shard.db('admin').command({ revokeRolesFromUser: 'migrator', roles: ['directShardOperations'] });
  });
}
