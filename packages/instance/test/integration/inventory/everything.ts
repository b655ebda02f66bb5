import type { Inventory, InventoryAction, InventoryKind } from '@convoy/api/contract/inventory';
import { loginAs } from '@convoy/testbed/cluster/access-control';
import { serversFor } from '@convoy/testbed/cluster/server-version';
import { type Binary, Code, type Document, Long, MaxKey, MinKey, MongoClient } from 'mongodb';
import { expect } from 'vitest';
import type { Shape, Side } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';

/** Whether servers of 8.0 are real: simulated ones lack query settings and most cluster parameters. */
export const isReal = (await serversFor('8.0')).kind !== 'simulator';

const password = 'of the application';

/** A user that logs in with its password, and a database that it may write. */
export interface Application {
  readonly user: string;
  readonly db: string;
  readonly writes: string;
}

/** Users of `makeAccess` that log in with their passwords. */
export const applications: readonly Application[] = [
  { user: 'shop-app', db: 'admin', writes: 'shop' },
  { user: 'clerk', db: 'shop', writes: 'shop' },
  { user: 'auditor', db: 'admin', writes: 'audit' },
  ...(isReal ? [{ user: 'elder', db: 'shop', writes: 'shop' }] : []),
];

/** Makes users of applications and the roles that they have, of which one inherits another. */
export async function makeAccess({ client }: Side): Promise<void> {
  const find = { resource: { db: 'shop', collection: '' }, actions: ['find'] };
  const write = { resource: { db: 'shop', collection: 'orders' }, actions: ['insert', 'remove'] };
  await client.db('shop').command({ createRole: 'reader', privileges: [find], roles: [] });
  await client.db('shop').command({ createRole: 'desk', privileges: [write], roles: ['reader'] });
  // Simulated users have neither.
  const more = isReal
    ? { customData: { till: 7 }, authenticationRestrictions: [{ clientSource: ['127.0.0.1', '::1'] }] }
    : {};
  await client.db('shop').command({ createUser: 'clerk', pwd: password, roles: ['desk'], ...more });
  await client.db('admin').command({
    createUser: 'shop-app',
    pwd: password,
    roles: [{ role: 'readWrite', db: 'shop' }],
  });
  await client.db('admin').command({ createUser: 'auditor', pwd: password, roles: ['readWriteAnyDatabase'] });
  if (!isReal) return;
  // Users whose credentials are older, or on a certificate; a role with privileges and a role of other databases.
  await client.db('shop').command({ createUser: 'elder', pwd: password, roles: ['desk'], mechanisms: ['SCRAM-SHA-1'] });
  const anyEnd = { resource: { db: 'shop', collection: 'watched' }, actions: ['changeStream', 'find'] };
  await client.db('admin').command({
    createRole: 'follower',
    privileges: [anyEnd],
    roles: [{ role: 'reader', db: 'shop' }],
    authenticationRestrictions: [{ clientSource: ['127.0.0.1'] }],
  });
  await client.db('$external').command({
    createUser: 'CN=robot,O=shop',
    roles: [{ role: 'follower', db: 'admin' }],
  });
}

/** Logs in as a user of an application, writes a document and removes it. */
export async function logsIn(side: Side, { user, db, writes }: Application, pwd = password): Promise<boolean> {
  const url = new URL(side.connectionString);
  [url.username, url.password] = [user, encodeURIComponent(pwd)];
  url.searchParams.set('authSource', db);
  await using client = new MongoClient(url.href, { serverSelectionTimeoutMS: 5_000 });
  const orders = client.db(writes).collection('orders');
  const { insertedId } = await orders.insertOne({ of: user });
  return (await orders.deleteOne({ _id: insertedId })).deletedCount === 1;
}

/** A collection in two zones of a shard each, with all documents on one shard, and one that is not balanced. */
export async function makeZones(side: Side, shards: readonly string[], documents: number): Promise<void> {
  const { client } = side;
  const admin = client.db('admin');
  const [first = '', second = ''] = shards;
  await admin.command({ balancerStop: 1 });
  await client
    .db('shop')
    .collection('orders')
    .createIndexes([{ key: { region: 1, n: 1 } }]);
  await side.shardCollection('shop.orders', { region: 1, n: 1 });
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
  await side.shardCollection('shop.items', { sku: 1 });
  await client
    .db('config')
    .collection<{ _id: string }>('collections')
    .updateOne({ _id: 'shop.items' }, { $set: { noBalance: true } });
}

/** A collection with a compound hashed key, in zones whose ranges end at MinKey and MaxKey and at parts of the key. */
async function makeHashedZones(side: Side, documents: number): Promise<void> {
  const { client } = side;
  const admin = client.db('admin');
  const events = client.db('shop').collection('events');
  await events.createIndexes([{ key: { region: 1, _id: 'hashed' } }]);
  await side.shardCollection('shop.events', { region: 1, _id: 'hashed' });
  for (const [zone, min, max] of [
    ['EU', new MinKey(), 'M'],
    ['US', 'M', new MaxKey()],
  ])
    await admin.command({ updateZoneKeyRange: 'shop.events', min: { region: min }, max: { region: max }, zone });
  await events.insertMany(Array.from({ length: documents }, (_, n) => ({ region: n % 2 === 0 ? 'EU' : 'US', n })));
}

/** Chunks in the range of a zone that are on a shard outside of it: the documents in them lie outside of their zone. */
export async function outsideOfZones({ client }: Side): Promise<string[]> {
  const config = client.db('config');
  const sharded = await config.collection<{ _id: string; uuid?: Binary }>('collections').find().toArray();
  const shards = await config.collection<{ _id: string; tags?: string[] }>('shards').find().toArray();
  const outside: string[] = [];
  for (const { ns, min, max, tag } of await config.collection('tags').find().toArray()) {
    const overlapping = {
      uuid: sharded.find(({ _id }) => _id === ns)?.uuid,
      max: { $gt: min as Document },
      min: { $lt: max as Document },
    };
    for (const { shard } of await config.collection('chunks').find(overlapping).toArray()) {
      const zones = shards.find(({ _id }) => _id === shard)?.tags ?? [];
      if (!zones.includes(String(tag))) outside.push(`${String(ns)}: ${String(tag)} on ${String(shard)}`);
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
  const hinted = (...allowedIndexes: unknown[]) => ({
    indexHints: { ns: { db: 'shop', coll: 'orders' }, allowedIndexes },
  });
  const stages = [{ $match: { n: Long.fromNumber(7) } }, { $group: { _id: '$region' } }];
  for (const [query, settings] of [
    [{ find: 'orders', filter: { region: 'EU' } }, hinted('region_1_n_1')],
    [{ distinct: 'orders', key: 'region', query: { n: 1 } }, hinted({ $natural: 1 }, { region: 1, n: 1 })],
    [
      { aggregate: 'orders', pipeline: stages },
      { queryFramework: 'classic', comment: { since: Long.fromNumber(8) } },
    ],
  ] as const)
    await admin.command({ setQuerySettings: { ...query, $db: 'shop' }, settings });
}

/** Hours of the day in which the balancer may work: not now, nor in the next hours. */
function otherHours(): { start: string; stop: string } {
  const at = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toTimeString().slice(0, 5);
  return { start: at(10), stop: at(11) };
}

/**
 * Settings of a balancer, of the whole cluster and of a collection, that only sharded clusters have. It is on, but not
 * at this time of the day.
 */
export async function makeBalancing({ client }: Side): Promise<void> {
  const admin = client.db('admin');
  const settings = client.db('config').collection<{ _id: string }>('settings');
  const set = (id: string, fields: Document): Promise<unknown> =>
    settings.updateOne({ _id: id }, { $set: fields }, { upsert: true });
  await set('chunksize', { value: 64 });
  await set('balancer', { activeWindow: otherHours(), attemptToBalanceJumboChunks: true });
  await admin.command({ balancerStart: 1 });
  await set('automerge', { enabled: false });
  await admin.command({ configureCollectionBalancing: 'shop.items', chunkSize: 32, enableAutoMerger: false });
}

/** A server of a cluster that keeps `shop`: a replica set, or a shard. */
async function serverOf(side: Side): Promise<MongoClient> {
  const databases = side.client.db('config').collection<{ _id: string; primary: string }>('databases');
  const shop = await databases.findOne({ _id: 'shop' });
  const primary = (await side.shards()).find(({ id }) => id === shop?.primary);
  return new MongoClient(loginAs(primary?.url ?? side.connectionString, 'root'));
}

/** The profiler of a database, which real servers alone have. */
export async function makeProfiler(side: Side): Promise<void> {
  await using server = await serverOf(side);
  await server.db('shop').command({ profile: 1, slowms: 100_000 });
}

/** A collection in `local` of a server, which no router shows. Servers retry no writes to it. */
async function makeLocal(side: Side): Promise<void> {
  await using server = await serverOf(side);
  await server.db('local').command({ insert: 'notes', documents: [{ n: 1 }] });
}

/** What a migration always takes along. */
export async function makeMigrated({ client }: Side): Promise<void> {
  const shop = client.db('shop');
  await shop.createCollection('watched', { changeStreamPreAndPostImages: { enabled: true } });
  await shop.createCollection('checked', { validator: { n: { $gt: 0 } }, validationAction: 'warn' });
  const functions = shop.collection<{ _id: string; value: Code }>('system.js');
  await functions.insertOne({ _id: 'double', value: new Code('function (x) { return 2 * x; }') });
}

/** Everything that an inventory lists, on a source with documents in `shop.orders`. */
export async function makeEverything(side: Side, shape: Shape, documents: number): Promise<void> {
  if (shape === 'replicaSet') {
    await side.client.db('shop').collection('orders').insertOne({ n: 1 });
  } else {
    await makeZones(side, await side.shardIds(), documents);
    await makeHashedZones(side, documents);
    await makeBalancing(side);
  }
  await makeLocal(side);
  await makeMigrated(side);
  await makeAccess(side);
  await makeSettings(side);
  if (isReal) await makeProfiler(side);
}

/** Rows as `kind name: action`, without those of the test's own users. */
export function actionsOf({ rows }: Pick<Inventory, 'rows'>): string[] {
  const isOwn = (kind: InventoryKind, name: string): boolean => kind === 'users' && /^(root|shopper)@admin$/.test(name);
  return rows.flatMap(({ kind, name, action }): string[] =>
    isOwn(kind, name)
      ? []
      : [`${kind} ${name.replace(/ [0-9A-F]{16}$| on .*/, '')}: ${action satisfies InventoryAction}`],
  );
}

/** The table of an instance: it answers for both clusters in their present roles. */
export async function inventoryOf(instance: ServedInstance, query = ''): Promise<Inventory> {
  const { status, body } = await instance.request('GET', `/api/v1/inventory${query}`);
  expect({ status, success: body.success as unknown }).toEqual({ status: 200, success: true });
  return body.inventory as Inventory;
}

/** Rows of one outcome, as `actionsOf` has them. */
export const as = (action: InventoryAction, names: readonly string[]): string[] =>
  names.map((name) => `${name}: ${action}`);

const onReal = (names: readonly string[]): readonly string[] => (isReal ? names : []);

/** What `carry` takes along of `makeEverything`, by the names of its rows and in their order. */
export const carried = {
  zones: ['zones shop.events', 'zones shop.orders', 'zones zone EU', 'zones zone US'],
  balancing: ['balancing shop.items'],
  users: [
    ...onReal(['users CN=robot,O=shop@$external']),
    ...['users auditor@admin', 'users clerk@shop'],
    ...onReal(['users elder@shop']),
    'users shop-app@admin',
  ],
  roles: ['roles desk@shop', ...onReal(['roles follower@admin']), 'roles reader@shop'],
  settings: [
    'defaultConcerns defaultReadConcern',
    'defaultConcerns defaultWriteConcern',
    ...onReal(['clusterParameters changeStreamOptions']),
    'clusterParameters defaultMaxTimeMS',
    ...onReal(Array.from({ length: 3 }, () => 'querySettings shop.orders')),
  ],
} as const;

/** What no commit takes along, of a sharded source and of a replica set. */
export const listed = {
  ownCollections: ['ownCollections admin.notes', 'ownCollections config.notes'],
  /** Of a replica set, or of a shard that is read directly. */
  local: ['ownCollections local.notes'],
  balancer: ['balancer activeWindow', 'balancer attemptToBalanceJumboChunks'],
  ofCluster: ['chunkSize chunksize', 'autoMerger automerge'],
  profiler: onReal(['profiler shop']),
} as const;

/** What every migration takes along with its collections. */
export const migrated = ['functions shop.system.js', 'preImages shop.watched', 'validators shop.checked'] as const;
