import type { ServerVersion } from '../../node/server-version.js';
import { backupPrivileges, queryableBackupPrivileges, restorePrivileges } from './backup-roles.js';
import type { Privilege } from './privilege-set.js';
import {
  anyBucketsResource as anyBuckets,
  anyNormalResource as anyNormal,
  anyResource,
  clusterResource as cluster,
  databaseResource as database,
  everywhereResource as everywhere,
  namespaceResource as namespace,
} from './resource.js';
import * as actions from './role-actions.js';
import type { RoleName } from './role-name.js';

/** Gives the privileges of a role on a database; undefined when the release has no such role. */
type Grant = (db: string, version: ServerVersion) => Privilege[] | undefined;

function read(db: string): Privilege[] {
  return [
    { resource: database(db), actions: actions.readActions },
    { resource: namespace(db, 'system.js'), actions: actions.readActions },
  ];
}

function readWrite(db: string): Privilege[] {
  return [
    { resource: database(db), actions: actions.readWriteActions },
    { resource: namespace(db, 'system.js'), actions: actions.readWriteActions },
  ];
}

function userAdmin(db: string): Privilege[] {
  return [{ resource: database(db), actions: actions.userAdminActions }];
}

function dbAdmin(db: string): Privilege[] {
  return [
    { resource: database(db), actions: actions.dbAdminActions },
    { resource: namespace(db, 'system.profile'), actions: actions.profileActions },
  ];
}

function onAnyDatabase(granted: readonly string[]): Privilege[] {
  return [
    { resource: anyNormal, actions: granted },
    { resource: cluster, actions: ['listDatabases'] },
    { resource: everywhere('system.js'), actions: granted },
    { resource: anyBuckets, actions: granted },
  ];
}

function userAdminAnyDatabase(): Privilege[] {
  const readAndIndex = [...actions.readActions, 'createIndex', 'dropIndex'];
  return [
    { resource: anyNormal, actions: [...actions.userAdminActions, 'listCachedAndActiveUsers'] },
    { resource: database('local'), actions: actions.userAdminActions },
    { resource: database('config'), actions: actions.userAdminActions },
    { resource: cluster, actions: ['authSchemaUpgrade', 'invalidateUserCache', 'listDatabases', 'viewUser'] },
    { resource: everywhere('system.users'), actions: actions.readActions },
    { resource: namespace('admin', 'system.users'), actions: readAndIndex },
    { resource: namespace('admin', 'system.roles'), actions: readAndIndex },
    { resource: namespace('admin', 'system.version'), actions: actions.readActions },
    { resource: namespace('admin', 'system.backup_users'), actions: actions.readActions },
  ];
}

function dbAdminAnyDatabase(): Privilege[] {
  return [
    { resource: cluster, actions: ['applyOps', 'listDatabases'] },
    { resource: anyNormal, actions: actions.dbAdminActions },
    { resource: everywhere('system.profile'), actions: actions.profileActions },
    { resource: anyBuckets, actions: actions.dbAdminActions },
  ];
}

function clusterMonitor(_db: string, version: ServerVersion): Privilege[] {
  const found = ['system.replset', 'replset.election', 'replset.minvalid'];
  return [
    { resource: cluster, actions: actions.clusterMonitorActions(version) },
    // On buckets as recorded: not on 5.0.7, on 8.0.10. Of the releases between nothing is known.
    ...[anyNormal, ...(version.atLeast(8) ? [anyBuckets] : []), database('config'), database('local')].map(
      (resource) => ({
        resource,
        actions: actions.clusterMonitorDatabaseActions,
      }),
    ),
    ...read('config'),
    ...read('local'),
    ...found.map((collection) => ({ resource: namespace('local', collection), actions: ['find'] })),
    { resource: everywhere('system.profile'), actions: ['find'] },
  ];
}

function hostManager(): Privilege[] {
  return [
    { resource: cluster, actions: actions.hostManagerActions },
    { resource: anyNormal, actions: ['killCursors'] },
  ];
}

function clusterManager(_db: string, version: ServerVersion): Privilege[] {
  const managed = [anyNormal, anyBuckets, database('config'), database('local')];
  const written = [
    database('config'),
    database('local'),
    namespace('local', 'replset.election'),
    namespace('local', 'replset.minvalid'),
  ];
  return [
    { resource: cluster, actions: actions.clusterManagerActions(version) },
    ...managed.map((resource) => ({ resource, actions: actions.clusterManagerDatabaseActions(version) })),
    { resource: namespace('local', 'system.replset'), actions: actions.readActions },
    ...read('config'),
    ...written.map((resource) => ({ resource, actions: actions.writeActions })),
    { resource: namespace('local', 'system.healthlog'), actions: actions.readActions },
    { resource: anyResource, actions: ['dbCheck'] },
  ];
}

function clusterAdmin(db: string, version: ServerVersion): Privilege[] {
  return [
    ...clusterMonitor(db, version),
    ...hostManager(),
    ...clusterManager(db, version),
    { resource: anyNormal, actions: ['dropDatabase'] },
    { resource: anyResource, actions: ['exportCollection', 'importCollection'] },
  ];
}

/** From 6.0 on. A later release can filter by it. */
const directShardOperations: readonly Privilege[] = [{ resource: cluster, actions: ['issueDirectShardOperations'] }];

function root(db: string, version: ServerVersion): Privilege[] {
  return [
    ...clusterAdmin(db, version),
    ...userAdminAnyDatabase(),
    ...dbAdminAnyDatabase(),
    ...onAnyDatabase(actions.readWriteActions),
    ...backupPrivileges(version),
    ...restorePrivileges(version),
    { resource: anyResource, actions: ['validate'] },
    ...(version.atLeast(6)
      ? [...directShardOperations, { resource: namespace('config', 'system.preimages'), actions: ['find', 'remove'] }]
      : []),
    ...(version.atLeast(8) ? [{ resource: cluster, actions: ['bypassDefaultMaxTimeMS'] }] : []),
  ];
}

/** Roles that every database has. */
const databaseRoles: ReadonlyMap<string, Grant> = new Map<string, Grant>([
  ['dbAdmin', dbAdmin],
  ['dbOwner', (db) => [...readWrite(db), ...dbAdmin(db), ...userAdmin(db)]],
  [
    'enableSharding',
    () => [{ resource: anyNormal, actions: ['enableSharding', 'refineCollectionShardKey', 'reshardCollection'] }],
  ],
  ['read', read],
  ['readWrite', readWrite],
  ['userAdmin', userAdmin],
]);

/** Roles that only the `admin` database has. */
const adminRoles: ReadonlyMap<string, Grant> = new Map<string, Grant>([
  ['__queryableBackup', queryableBackupPrivileges],
  ['__system', () => [{ resource: anyResource, actions: ['*'] }]],
  ['backup', (_db, version) => backupPrivileges(version)],
  ['clusterAdmin', clusterAdmin],
  ['clusterManager', clusterManager],
  ['clusterMonitor', clusterMonitor],
  ['dbAdminAnyDatabase', dbAdminAnyDatabase],
  ['directShardOperations', (_db, version) => (version.atLeast(6) ? [...directShardOperations] : undefined)],
  ['hostManager', hostManager],
  ['readAnyDatabase', () => onAnyDatabase(actions.readActions)],
  ['readWriteAnyDatabase', () => onAnyDatabase(actions.readWriteActions)],
  ['restore', (_db, version) => restorePrivileges(version)],
  ['root', root],
  ['userAdminAnyDatabase', userAdminAnyDatabase],
]);

/** The privileges of a built-in role. Undefined when the database has no such role. */
export function builtInPrivileges({ role, db }: RoleName, version: ServerVersion): Privilege[] | undefined {
  const grant = databaseRoles.get(role) ?? (db === 'admin' ? adminRoles.get(role) : undefined);
  return db === '$external' ? undefined : grant?.(db, version);
}
