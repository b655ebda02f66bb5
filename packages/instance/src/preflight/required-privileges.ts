import type { Document } from 'mongodb';

/** A privilege that a sync user needs: actions on one resource. */
export interface RequiredPrivilege {
  resource: 'cluster' | 'everyDatabase' | 'config';
  actions: readonly string[];
}

/** Reading everything, following the stream and stopping the balancer (recorded in 07-auth for `backup`, `clusterMonitor`, `readAnyDatabase`). */
export const sourcePrivileges: Readonly<Record<'sharded' | 'replicaSet', readonly RequiredPrivilege[]>> = {
  replicaSet: [
    { resource: 'cluster', actions: ['listDatabases'] },
    { resource: 'everyDatabase', actions: ['find', 'changeStream', 'listCollections', 'listIndexes', 'collStats'] },
  ],
  sharded: [
    { resource: 'cluster', actions: ['listDatabases', 'listShards'] },
    { resource: 'everyDatabase', actions: ['find', 'changeStream', 'listCollections', 'listIndexes', 'collStats'] },
    { resource: 'config', actions: ['find'] },
  ],
};

const WRITE_ACTIONS = [
  'find', 'insert', 'update', 'remove', 'bypassDocumentValidation', 'createCollection', 'dropCollection', 'createIndex',
  'dropIndex', 'collMod', 'renameCollectionSameDB', 'listCollections', 'listIndexes',
];

/** Writing everything; on sharded clusters also sharding, and placing chunks by zones (`clusterManager`, `readWriteAnyDatabase`, `restore`). */
export const destinationPrivileges: Readonly<Record<'sharded' | 'replicaSet', readonly RequiredPrivilege[]>> = {
  replicaSet: [
    { resource: 'cluster', actions: ['listDatabases'] },
    { resource: 'everyDatabase', actions: WRITE_ACTIONS },
  ],
  sharded: [
    { resource: 'cluster', actions: ['listDatabases', 'listShards', 'flushRouterConfig'] },
    { resource: 'everyDatabase', actions: [...WRITE_ACTIONS, 'enableSharding'] },
    { resource: 'config', actions: ['find', 'update', 'remove'] },
  ],
};

/**
 * What of the required privileges a user lacks.
 * @param granted `authenticatedUserPrivileges` of `connectionStatus`
 * @returns texts such as `find on config`, in the order of the requirements
 */
export function missingPrivileges(granted: readonly Document[], required: readonly RequiredPrivilege[]): string[] {
  return required.flatMap(({ resource, actions }) => {
    const has = new Set(granted.filter((grant) => covers(grant.resource as Document, resource)).flatMap((grant) => grant.actions as string[]));
    if (has.has('anyAction')) return [];
    return actions.filter((action) => !has.has(action)).map((action) => `${action} on ${RESOURCE_NAMES[resource]}`);
  });
}

const RESOURCE_NAMES: Readonly<Record<RequiredPrivilege['resource'], string>> = {
  cluster: 'the cluster',
  everyDatabase: 'every database',
  config: 'the config database',
};

function covers(granted: Document, needed: RequiredPrivilege['resource']): boolean {
  if (granted.anyResource === true) return true;
  if (needed === 'cluster') return granted.cluster === true;
  if (granted.collection !== '') return false;
  return needed === 'config' ? granted.db === 'config' : granted.db === '';
}
