import type { Inventory, InventoryAction, InventoryKind } from '@convoy/api/contract/inventory';
import { serversOf } from '@convoy/testbed/cluster/servers-of';
import { type Binary, type Document, MongoClient } from 'mongodb';
import type { Side } from '../contract/fixture.js';

/** Whether both sides are real servers: simulated ones lack query settings and most cluster parameters. */
export const isReal = (['source', 'destination'] as const).every((side) => serversOf(side).kind !== 'simulator');

const password = 'of the application';

/** Users of `makeAccess`, each with a database that it may write. */
export const applications = [
  { user: 'shop-app', db: 'admin', writes: 'shop' },
  { user: 'clerk', db: 'shop', writes: 'shop' },
  { user: 'auditor', db: 'admin', writes: 'audit' },
] as const;

/** Makes users of applications and the roles that they have, of which one inherits another. */
export async function makeAccess({ client }: Side): Promise<void> {
  const find = { resource: { db: 'shop', collection: '' }, actions: ['find'] };
  const write = { resource: { db: 'shop', collection: 'orders' }, actions: ['insert', 'remove'] };
  await client.db('shop').command({ createRole: 'reader', privileges: [find], roles: [] });
  await client.db('shop').command({ createRole: 'desk', privileges: [write], roles: ['reader'] });
  await client.db('shop').command({ createUser: 'clerk', pwd: password, roles: ['desk'] });
  await client.db('admin').command({
    createUser: 'shop-app',
    pwd: password,
    roles: [{ role: 'readWrite', db: 'shop' }],
  });
  await client.db('admin').command({ createUser: 'auditor', pwd: password, roles: ['readWriteAnyDatabase'] });
}

/** Logs in as a user of an application, writes a document and removes it. */
export async function logsIn(side: Side, { user, db, writes }: (typeof applications)[number]): Promise<boolean> {
  const url = new URL(side.connectionString);
  [url.username, url.password] = [user, encodeURIComponent(password)];
  url.searchParams.set('authSource', db);
  await using client = new MongoClient(url.href, { serverSelectionTimeoutMS: 5_000 });
  const orders = client.db(writes).collection('orders');
  const { insertedId } = await orders.insertOne({ of: user });
  return (await orders.deleteOne({ _id: insertedId })).deletedCount === 1;
}

/** A collection in two zones of a shard each, with all documents on one shard, and one that is not balanced. */
export async function makeZones({ client }: Side, shards: readonly string[], documents: number): Promise<void> {
  const admin = client.db('admin');
  const [first = '', second = ''] = shards;
  await admin.command({ balancerStop: 1 });
  await client
    .db('shop')
    .collection('orders')
    .createIndexes([{ key: { region: 1, n: 1 } }]);
  await admin.command({ shardCollection: 'shop.orders', key: { region: 1, n: 1 } });
  await admin.command({ addShardToZone: first, zone: 'EU' });
  await admin.command({ addShardToZone: second, zone: 'US' });
  for (const region of ['EU', 'US'])
    await admin.command({
      updateZoneKeyRange: 'shop.orders',
      min: { region, n: -1 },
      max: { region, n: documents },
      zone: region,
    });
  await admin.command({ split: 'shop.orders', middle: { region: 'US', n: -1 } });
  const rows = Array.from({ length: documents }, (_, n) => ({ region: n % 2 === 0 ? 'EU' : 'US', n }));
  await client.db('shop').collection('orders').insertMany(rows);
  await client
    .db('shop')
    .collection('items')
    .createIndexes([{ key: { sku: 1 } }]);
  await admin.command({ shardCollection: 'shop.items', key: { sku: 1 } });
  await client
    .db('config')
    .collection<{ _id: string }>('collections')
    .updateOne({ _id: 'shop.items' }, { $set: { noBalance: true } });
}

/** Chunks in the range of a zone that are on a shard outside of it: the documents in them lie outside of their zone. */
export async function outsideOfZones({ client }: Side): Promise<string[]> {
  const config = client.db('config');
  const sharded = await config
    .collection<{ _id: string; uuid?: Binary }>('collections')
    .findOne({ _id: 'shop.orders' });
  const shards = await config.collection<{ _id: string; tags?: string[] }>('shards').find().toArray();
  const outside: string[] = [];
  for (const { min, max, tag } of await config.collection('tags').find({ ns: 'shop.orders' }).toArray()) {
    const overlapping = {
      uuid: sharded?.uuid,
      max: { $gt: min as Document },
      min: { $lt: max as Document },
    };
    for (const { shard } of await config.collection('chunks').find(overlapping).toArray()) {
      const zones = shards.find(({ _id }) => _id === shard)?.tags ?? [];
      if (!zones.includes(String(tag))) outside.push(`${String(tag)} on ${String(shard)}`);
    }
  }
  return outside;
}

/** Settings of the whole cluster that every release from 8.0 on has. */
export async function makeSettings({ client }: Side): Promise<void> {
  const admin = client.db('admin');
  await admin.command({
    setDefaultRWConcern: 1,
    defaultReadConcern: { level: 'majority' },
    defaultWriteConcern: { w: 1, wtimeout: 0 },
  });
  await admin.command({ setClusterParameter: { defaultMaxTimeMS: { readOperations: 55_000 } } });
  await client.db('admin').collection('notes').insertOne({ n: 1 });
  await client.db('config').collection('notes').insertOne({ n: 1 });
  if (!isReal) return;
  await admin.command({
    setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: 100 } } },
  });
  await admin.command({
    setQuerySettings: { find: 'orders', filter: { region: 'EU' }, $db: 'shop' },
    settings: { indexHints: { ns: { db: 'shop', coll: 'orders' }, allowedIndexes: ['region_1_n_1'] } },
  });
}

/** Settings of the balancer that only sharded clusters have, and only real servers all of. */
export async function makeBalancing({ client }: Side): Promise<void> {
  const settings = client.db('config').collection<{ _id: string }>('settings');
  await settings.updateOne({ _id: 'chunksize' }, { $set: { value: 64 } }, { upsert: true });
  await settings.updateOne(
    { _id: 'balancer' },
    { $set: { activeWindow: { start: '00:00', stop: '23:59' } } },
    { upsert: true },
  );
  if (!isReal) return;
  await client
    .db('admin')
    .command({ configureCollectionBalancing: 'shop.items', chunkSize: 32, enableAutoMerger: false });
}

/** What a migration always takes along. */
export async function makeMigrated({ client }: Side): Promise<void> {
  const shop = client.db('shop');
  await shop.createCollection('watched', { changeStreamPreAndPostImages: { enabled: true } });
  await shop.createCollection('checked', { validator: { n: { $gt: 0 } }, validationAction: 'warn' });
}

/** Rows as `kind name: action`, without those of the test's own users and of primaries. */
export function actionsOf({ rows }: Pick<Inventory, 'rows'>): string[] {
  const isOwn = (kind: InventoryKind, name: string): boolean =>
    kind === 'primaries' || (kind === 'users' && /^(root|shopper)@admin$/.test(name));
  return rows.flatMap(({ kind, name, action }): string[] =>
    isOwn(kind, name) ? [] : [`${kind} ${name.replace(/ [0-9A-F]{16}$/, '')}: ${action satisfies InventoryAction}`],
  );
}
