import type { Json } from '../../conformance/corpus-file.js';
import type { Command, Family } from '../case.js';
import type { Random } from '../random.js';
import type { Fields } from '../values.js';

const db = 'diff_privileges';
const other = 'diff_others';
const password = 'PASSWORD';

type Privilege = { resource: Fields; actions: string[] };

const cluster: Fields = { cluster: true };
const collection = (name: string): Fields => ({ db, collection: name });

/** Roles of the family's own, by their names. */
const ownRoles: Readonly<Record<string, readonly Privilege[]>> = {
  finder: [{ resource: collection('c'), actions: ['find'] }],
  byUuid: [
    { resource: cluster, actions: ['useUUID'] },
    { resource: { db, collection: '' }, actions: ['find'] },
  ],
  configuration: [
    {
      resource: cluster,
      actions: ['replSetGetConfig', 'replSetGetStatus', 'serverStatus', 'listShards', 'getShardMap'],
    },
  ],
  watcher: [{ resource: { db, collection: '' }, actions: ['changeStream', 'find'] }],
  watcherOfAll: [{ resource: { db: '', collection: '' }, actions: ['changeStream', 'find'] }],
  killer: [{ resource: cluster, actions: ['killAnySession', 'killAnyCursor', 'inprog', 'killop'] }],
  definer: [
    {
      resource: { db, collection: '' },
      actions: [
        'createCollection',
        'createIndex',
        'dropIndex',
        'collMod',
        'listIndexes',
        'listCollections',
        'renameCollectionSameDB',
      ],
    },
  ],
  sharder: [
    {
      resource: { db: '', collection: '' },
      actions: ['enableSharding', 'moveChunk', 'splitChunk', 'refineCollectionShardKey'],
    },
  ],
  writer: [{ resource: collection('c'), actions: ['insert', 'update'] }],
};

const builtIn: Readonly<Record<string, Json>> = {
  reads: { role: 'read', db },
  writes: { role: 'readWrite', db },
  administers: { role: 'dbAdmin', db },
  owns: { role: 'dbOwner', db },
  readsAll: 'readAnyDatabase',
  writesAll: 'readWriteAnyDatabase',
  administersAll: 'dbAdminAnyDatabase',
  monitors: 'clusterMonitor',
  manages: 'clusterManager',
  hosts: 'hostManager',
  backs: 'backup',
  restores: 'restore',
  managesUsers: 'userAdminAnyDatabase',
};

const users: readonly string[] = [...Object.keys(builtIn), ...Object.keys(ownRoles), 'none'];

function asRoot(on: string, command: Json): Command {
  return { on: 'router', db: on, who: 'root', command };
}

/**
 * Commands of users who have various roles. What is in the databases stays as it is, but for what is put back before
 * every case.
 */
export const privileges: Family = {
  name: 'privileges',
  access: true,
  fixture: [
    ...Object.entries(ownRoles).map(([name, held]) =>
      asRoot('admin', { createRole: name, privileges: held as unknown as Json, roles: [] }),
    ),
    ...Object.entries(builtIn).map(([user, role]) =>
      asRoot('admin', { createUser: user, pwd: password, roles: [role] }),
    ),
    ...Object.keys(ownRoles).map((user) => asRoot('admin', { createUser: user, pwd: password, roles: [user] })),
    asRoot('admin', { createUser: 'none', pwd: password, roles: [] }),
    asRoot('admin', { balancerStop: 1 }),
  ],
  reset: [
    asRoot(db, { dropDatabase: 1 }),
    asRoot(other, { dropDatabase: 1 }),
    ...[db, other].map((name) => asRoot('admin', { enableSharding: name, primaryShard: 'shard0' })),
    asRoot(db, { insert: 'c', documents: [{ _id: 1, a: 1 }] }),
    asRoot(db, { create: 'v', viewOn: 'c', pipeline: [] }),
  ],
  commands: (random) => random.list(8, 14, () => ({ ...command(random), who: random.pick(users) })),
};

function command(random: Random): Command {
  const ask = (command: Json, on = db): Command => ({ on: 'router', db: on, command });
  const name = random.pick(['c', 'c', 'c', 'd', 'v', 'system.js']);
  const home = random.pick([db, db, db, other]);
  const ns = `${home}.${name}`;
  return random.weighted<Command>([
    [4, () => ask(data(random, name), home)],
    [
      3,
      () =>
        ask(
          random.pick<Json>([
            { create: name },
            { drop: 'd' },
            { createIndexes: name, indexes: [{ key: { a: 1 }, name: 'a_1' }] },
            { dropIndexes: name, index: 'a_1' },
            { listIndexes: name },
            { collMod: name, validationLevel: 'moderate' },
            { convertToCapped: 'd', size: 4096 },
            { dropDatabase: 1 },
            { create: 'w', viewOn: name, pipeline: [] },
            { collStats: 'none' },
            { dataSize: `${home}.none` },
            { validate: 'none' },
            { listCollections: 1, nameOnly: true, authorizedCollections: true, filter: { name: 'c' } },
            { listCollections: 1, nameOnly: true, filter: { name: 'c' } },
          ]),
          home,
        ),
    ],
    [
      3,
      () =>
        ask(
          random.pick<Json>([
            { renameCollection: ns, to: `${home}.e` },
            { renameCollection: ns, to: `${home}.e`, dropTarget: true },
            { renameCollection: ns, to: `${other}.e` },
            { shardCollection: `${home}.d`, key: { _id: 1 } },
            { enableSharding: home },
            { movePrimary: home, to: 'shard9' },
            { split: ns, middle: { _id: 1 } },
            { moveChunk: ns, find: { _id: 1 }, to: 'shard9' },
            { mergeChunks: ns, bounds: [{ _id: 1 }, { _id: 2 }] },
            { refineCollectionShardKey: ns, key: { _id: 1, a: 1 } },
            { clearJumboFlag: ns, find: { _id: 1 } },
            { reshardCollection: `${db}.none`, key: { a: 1 } },
            { balancerCollectionStatus: ns },
          ]),
          'admin',
        ),
    ],
    [
      3,
      () =>
        ask(
          random.pick<Json>([
            { balancerStop: 1 },
            { listShards: 1, comment: 'c' },
            { getShardMap: 1, x: 1 },
            { addShard: 'none/127.0.0.1:1', name: 'x', maxTimeMS: 1 },
            { removeShard: 'none' },
            { addShardToZone: 'none', zone: 'z' },
            { updateZoneKeyRange: `${db}.none`, min: { _id: 1 }, max: { _id: 2 }, zone: null },
            { flushRouterConfig: 1 },
            { replSetGetConfig: 1 },
            { replSetGetStatus: 1 },
            { getParameter: 1, nope: 1 },
            { setParameter: 1, nope: 1 },
            { getCmdLineOpts: 1, x: 1 },
            { killAllSessions: [] },
            { killSessions: [] },
            { killOp: 1, op: 'shard0:1' },
            { fsync: 1, lock: 'x' },
            { appendOplogNote: 1, data: {} },
            { getDefaultRWConcern: 1 },
            { connPoolStats: 1, x: 1 },
            { setFeatureCompatibilityVersion: '1.0' },
            { logRotate: 'x' },
            { getLog: 'nope' },
            { hostInfo: 1, x: 1 },
            { ping: 1 },
          ]),
          'admin',
        ),
    ],
    [
      1,
      () =>
        ask(
          { find: random.pick(['chunks', 'settings', 'shards', 'collections', 'databases']), filter: { _id: 'none' } },
          'config',
        ),
    ],
    [
      1,
      () =>
        ask(
          random.pick<Json>([
            { find: 'system.users', filter: { _id: 'x' } },
            { find: 'system.roles', filter: { _id: 'x' } },
            { find: 'system.version', filter: { _id: 'x' } },
          ]),
          'admin',
        ),
    ],
    [
      1.5,
      () =>
        ask(
          random.pick<Json>([
            { usersInfo: 'reads' },
            { usersInfo: { user: 'reads', db: 'admin' } },
            { rolesInfo: 'finder' },
            { createUser: 'x', pwd: 'x', roles: ['nope'] },
            { dropUser: 'nope' },
            { grantRolesToUser: 'nope', roles: ['read'] },
            { updateUser: 'nope', pwd: 'x' },
            { dropRole: 'nope' },
            { createRole: 'read', privileges: [], roles: [] },
          ]),
          random.pick(['admin', home]),
        ),
    ],
  ]);
}

function data(random: Random, name: string): Json {
  return random.pick<Json>([
    { find: name, sort: { _id: 1 } },
    { count: name },
    { distinct: name, key: 'a' },
    { insert: 'd', documents: [{ _id: 2 }], ordered: true },
    { insert: name, documents: [{ _id: 1 }] },
    { update: name, updates: [{ q: { _id: 1 }, u: { $set: { a: 1 } } }] },
    { update: 'c', updates: [{ q: { _id: 3 }, u: { $set: { a: 1 } }, upsert: true }] },
    { delete: name, deletes: [{ q: { _id: 7 }, limit: 1 }] },
    { findAndModify: name, query: { _id: 9 }, remove: true },
    { findAndModify: 'c', query: { _id: 1 }, update: { $set: { a: 1 } } },
    { aggregate: name, pipeline: [], cursor: {} },
    {
      aggregate: name,
      pipeline: [{ $lookup: { from: 'd', localField: 'a', foreignField: 'a', as: 'x' } }],
      cursor: {},
    },
    { aggregate: name, pipeline: [{ $out: 'd' }], cursor: {} },
    { aggregate: name, pipeline: [{ $unionWith: 'd' }], cursor: {} },
    { aggregate: name, pipeline: [{ $collStats: {} }, { $limit: 1 }, { $project: { _id: 1 } }], cursor: {} },
    { aggregate: name, pipeline: [{ $indexStats: {} }, { $project: { name: 1 } }], cursor: {} },
    { insert: 'd', documents: [{ _id: 5 }], bypassDocumentValidation: true },
    { getMore: { $numberLong: '1' }, collection: name },
    { killCursors: name, cursors: [{ $numberLong: '1' }] },
  ]);
}
