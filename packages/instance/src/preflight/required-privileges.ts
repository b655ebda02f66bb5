import type { CarriedKind } from '@convoy/api/contract/carry';
import type { Document } from 'mongodb';
import { directAction, directRoleRelease } from '../cluster/probe-shard.js';

/** A privilege that a sync user needs: actions on one resource. */
export interface RequiredPrivilege {
  resource: keyof typeof RESOURCE_NAMES;
  actions: readonly string[];
}

const RESOURCE_NAMES = {
  cluster: 'the cluster',
  everyDatabase: 'every database',
  config: 'the config database',
  balancerSettings: 'config.settings',
  users: 'admin.system.users',
  roles: 'admin.system.roles',
};

const READ_ACTIONS = ['find', 'changeStream', 'listCollections', 'listIndexes', 'collStats'];

/** Needed on every source: `inprog` shows the transactions that a commit time must wait for. */
const SOURCE_ACTIONS = ['listDatabases', 'inprog'];

/** To identify the replica set (`clusterMonitor`). */
const SET_ACTIONS = ['replSetGetConfig'];

/** To read collections by UUID on servers other than routers (`backup`). */
const UUID_ACTIONS = ['useUUID'];

/**
 * To read everything, follow the stream and stop the balancer (recorded in 07-auth for `backup`, `clusterMonitor`,
 * `readAnyDatabase`).
 */
export const sourcePrivileges: Readonly<Record<'sharded' | 'replicaSet', readonly RequiredPrivilege[]>> = {
  replicaSet: [
    { resource: 'cluster', actions: [...SOURCE_ACTIONS, ...SET_ACTIONS, ...UUID_ACTIONS] },
    { resource: 'everyDatabase', actions: READ_ACTIONS },
  ],
  sharded: [
    { resource: 'cluster', actions: [...SOURCE_ACTIONS, 'listShards'] },
    { resource: 'everyDatabase', actions: READ_ACTIONS },
    { resource: 'config', actions: ['find'] },
    // What `balancerStop` and `balancerStart` require.
    { resource: 'balancerSettings', actions: ['update'] },
  ],
};

/** To read shards of a cluster without its router, from 8.0 on (`directShardOperations`). */
const DIRECT_ACTIONS = [directAction];

/** To read a sharded source directly from its shards, by each shard's own users. */
export function shardPrivileges([release]: readonly [number, number, number]): readonly RequiredPrivilege[] {
  return [
    { resource: 'cluster', actions: [...UUID_ACTIONS, ...(release < directRoleRelease ? [] : DIRECT_ACTIONS)] },
    { resource: 'everyDatabase', actions: ['find', 'changeStream', 'listIndexes'] },
  ];
}

/**
 * To advance the streams of idle shards at once; `backup` and `clusterManager` have it. Without it they wait for the
 * servers' own ticks.
 */
export const notePrivileges: readonly RequiredPrivilege[] = [{ resource: 'cluster', actions: ['appendOplogNote'] }];

/** To write documents and apply DDL changes: `dropDatabase` is replicated as drops. */
const WRITE_ACTIONS = [
  'find',
  'insert',
  'update',
  'remove',
  'bypassDocumentValidation',
  'createCollection',
  'dropCollection',
  'createIndex',
  'dropIndex',
  'collMod',
  'renameCollectionSameDB',
  'listCollections',
  'listIndexes',
];

/**
 * To write everything; on sharded clusters also to shard, and to place chunks by zones (`clusterManager`,
 * `readWriteAnyDatabase`, `restore`).
 */
export const destinationPrivileges: Readonly<Record<'sharded' | 'replicaSet', readonly RequiredPrivilege[]>> = {
  replicaSet: [
    { resource: 'cluster', actions: ['listDatabases', ...SET_ACTIONS] },
    { resource: 'everyDatabase', actions: WRITE_ACTIONS },
  ],
  sharded: [
    { resource: 'cluster', actions: ['listDatabases', 'listShards', 'flushRouterConfig'] },
    // `indexStats` shows whether every shard has an index; `clusterMonitor` has it.
    { resource: 'everyDatabase', actions: [...WRITE_ACTIONS, 'enableSharding', 'indexStats'] },
    { resource: 'config', actions: ['find', 'update', 'remove'] },
  ],
};

/** What the verifier reads of the destination besides its documents: the writes to it. */
export const verifiedPrivileges: readonly RequiredPrivilege[] = [
  { resource: 'everyDatabase', actions: ['changeStream'] },
];

/** To block the writes of users (`backup` or `restore`). */
export const sourceBlockPrivileges: readonly RequiredPrivilege[] = [
  { resource: 'cluster', actions: ['setUserWriteBlockMode'] },
];

/** To block the writes of users and still write (`restore`). */
export const destinationBlockPrivileges: readonly RequiredPrivilege[] = [
  { resource: 'cluster', actions: ['setUserWriteBlockMode', 'bypassWriteBlockingMode'] },
];

/** To write while somebody else blocks the writes of users (`restore`). */
export const bypassPrivileges: readonly RequiredPrivilege[] = [
  { resource: 'cluster', actions: ['bypassWriteBlockingMode'] },
];

/** Of a kind that `carry` names, the first release with commands for it, and the privileges to read and to make it. */
interface CarryNeed {
  release: number;
  read: readonly RequiredPrivilege[];
  make: readonly RequiredPrivilege[];
}

const onCluster = (action: string): RequiredPrivilege[] => [{ resource: 'cluster', actions: [action] }];

/** What a migration needs anyway, for zones and for balancing. */
const nothingMore: CarryNeed = { release: 0, read: [], make: [] };

const carryNeeds: Readonly<Record<CarriedKind, CarryNeed>> = {
  zones: nothingMore,
  balancing: nothingMore,
  // `backup` reads them and `restore` makes them, as for mongodump and mongorestore.
  usersAndRoles: {
    release: 0,
    read: [
      { resource: 'users', actions: ['find'] },
      { resource: 'roles', actions: ['find'] },
    ],
    make: [
      { resource: 'users', actions: ['insert'] },
      { resource: 'everyDatabase', actions: ['createRole', 'grantRole'] },
    ],
  },
  defaultConcerns: { release: 0, read: onCluster('getDefaultRWConcern'), make: onCluster('setDefaultRWConcern') },
  clusterParameters: { release: 6, read: onCluster('getClusterParameter'), make: onCluster('setClusterParameter') },
  querySettings: { release: 8, read: onCluster('querySettings'), make: onCluster('querySettings') },
};

/**
 * What `carry` needs of a cluster's user, beyond what a migration does.
 * @param makes whether items are made there: on the destination, and on both if the clusters may swap roles
 */
export function carryPrivileges(
  kinds: ReadonlySet<CarriedKind>,
  [release]: readonly [number, number, number],
  makes: boolean,
): RequiredPrivilege[] {
  return [...kinds].flatMap((kind) => {
    const need = carryNeeds[kind];
    return release < need.release ? [] : [...need.read, ...(makes ? need.make : [])];
  });
}

/**
 * The required privileges that a user lacks.
 * @param granted `authenticatedUserPrivileges` of `connectionStatus`
 * @returns texts such as `find on config`, in the order of the requirements
 */
export function missingPrivileges(granted: readonly Document[], required: readonly RequiredPrivilege[]): string[] {
  return required.flatMap(({ resource, actions }) => {
    const has = new Set(
      granted
        .filter((grant) => covers(grant.resource as Document, resource))
        .flatMap((grant) => grant.actions as string[]),
    );
    if (has.has('anyAction')) return [];
    return actions.filter((action) => !has.has(action)).map((action) => `${action} on ${RESOURCE_NAMES[resource]}`);
  });
}

/** A grant on a whole database covers its ordinary collections, and one on every database those of each. */
export function covers(granted: Document, needed: RequiredPrivilege['resource']): boolean {
  if (granted.anyResource === true) return true;
  if (needed === 'cluster') return granted.cluster === true;
  if (needed === 'users' || needed === 'roles')
    return (granted.db === '' || granted.db === 'admin') && granted.collection === `system.${needed}`;
  if (needed === 'balancerSettings' && granted.db === 'config' && granted.collection === 'settings') return true;
  if (granted.collection !== '') return false;
  return needed === 'everyDatabase' ? granted.db === '' : granted.db === 'config';
}
