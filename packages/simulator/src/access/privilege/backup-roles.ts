import type { ServerVersion } from '../../node/server-version.js';
import type { Privilege } from './privilege-set.js';
import {
  anyBucketsResource as anyBuckets,
  anyNormalResource as anyNormal,
  anyResource,
  clusterResource as cluster,
  databaseResource as database,
  everywhereResource as everywhere,
  namespaceResource as namespace,
  type Resource,
} from './resource.js';
import { restoreActions, userAdminActions } from './role-actions.js';

/** Collections of single nodes that hold the state of replication. */
const replicationState: readonly Resource[] = [
  namespace('local', 'replset.election'),
  namespace('local', 'replset.minvalid'),
];

/** What a copy of everything reads: all data, users, roles and settings. */
export function queryableBackupPrivileges(): Privilege[] {
  const found: readonly Resource[] = [
    anyNormal,
    anyBuckets,
    database('config'),
    database('local'),
    ...replicationState,
    everywhere('system.js'),
    everywhere('system.users'),
    everywhere('system.profile'),
    namespace('admin', 'system.backup_users'),
    namespace('admin', 'system.roles'),
    namespace('admin', 'system.version'),
    namespace('config', 'settings'),
  ];
  return [
    { resource: anyResource, actions: ['collStats', 'listCollections', 'listIndexes'] },
    ...found.map((resource) => ({ resource, actions: ['find'] })),
    { resource: cluster, actions: ['getParameter', 'listDatabases', 'useUUID'] },
  ];
}

/** `backup`: reads everything, and may pause the balancer and write notes to the oplog. */
export function backupPrivileges(version: ServerVersion): Privilege[] {
  return [
    {
      resource: cluster,
      actions: ['appendOplogNote', 'serverStatus', ...(version.atLeast(6) ? ['setUserWriteBlockMode'] : [])],
    },
    { resource: namespace('config', 'settings'), actions: ['insert', 'update'] },
    ...queryableBackupPrivileges(),
  ];
}

/** `restore`: makes collections, indexes, users and roles and inserts into them, without reading. */
export function restorePrivileges(version: ServerVersion): Privilege[] {
  const restored: readonly Resource[] = [
    anyNormal,
    anyBuckets,
    everywhere('system.js'),
    database('config'),
    database('local'),
    namespace('local', 'system.replset'),
    ...replicationState,
    namespace('admin', 'system.backup_users'),
  ];
  const blocking = version.atLeast(6) ? ['bypassWriteBlockingMode', 'setUserWriteBlockMode'] : [];
  return [
    ...restored.map((resource) => ({ resource, actions: restoreActions })),
    { resource: anyResource, actions: ['listCollections'] },
    { resource: anyNormal, actions: userAdminActions },
    { resource: namespace('admin', 'tempusers'), actions: ['find'] },
    { resource: namespace('admin', 'temproles'), actions: ['find'] },
    { resource: namespace('admin', 'system.version'), actions: [...restoreActions, 'find'] },
    { resource: everywhere('system.users'), actions: [...restoreActions, 'find', 'remove', 'update'] },
    { resource: cluster, actions: ['forceUUID', 'getParameter', 'useUUID', ...blocking] },
    { resource: namespace('admin', 'system.roles'), actions: ['createIndex'] },
  ];
}
