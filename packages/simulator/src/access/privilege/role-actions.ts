import type { ServerVersion } from '../../node/server-version.js';

/**
 * Groups of actions that built-in roles grant (manual: "Built-In Roles" and "Privilege Actions"; 5.0 as recorded in
 * 07-auth).
 */

export const readActions = [
  'changeStream',
  'collStats',
  'dbHash',
  'dbStats',
  'find',
  'killCursors',
  'listCollections',
  'listIndexes',
  'planCacheRead',
];

export const writeActions = ['insert', 'remove', 'update'];

export const readWriteActions = [
  ...readActions,
  ...writeActions,
  'convertToCapped',
  'createCollection',
  'createIndex',
  'dropCollection',
  'dropIndex',
  'emptycapped',
  'renameCollectionSameDB',
];

export const userAdminActions = [
  'changeCustomData',
  'changePassword',
  'createRole',
  'createUser',
  'dropRole',
  'dropUser',
  'grantRole',
  'revokeRole',
  'setAuthenticationRestriction',
  'viewRole',
  'viewUser',
];

export const dbAdminActions = [
  'bypassDocumentValidation',
  'collMod',
  'collStats',
  'compact',
  'convertToCapped',
  'createCollection',
  'createIndex',
  'dbStats',
  'dropCollection',
  'dropDatabase',
  'dropIndex',
  'enableProfiler',
  'listCollections',
  'listIndexes',
  'planCacheIndexFilter',
  'planCacheRead',
  'planCacheWrite',
  'reIndex',
  'renameCollectionSameDB',
  'storageDetails',
  'validate',
];

/** On `system.profile`. */
export const profileActions = [...readActions, 'convertToCapped', 'createCollection', 'dropCollection'];

export const clusterMonitorDatabaseActions = [
  'collStats',
  'dbStats',
  'getDatabaseVersion',
  'getShardVersion',
  'indexStats',
];

export function clusterManagerDatabaseActions(version: ServerVersion): string[] {
  return [
    'clearJumboFlag',
    'enableSharding',
    'moveChunk',
    'refineCollectionShardKey',
    'reshardCollection',
    'splitChunk',
    'splitVector',
    ...(version.atLeast(7) ? ['analyzeShardKey', 'configureQueryAnalyzer'] : []),
    ...(version.atLeast(8) ? ['moveCollection'] : []),
  ];
}

/** What `restore` may do to collections. */
export const restoreActions = [
  'bypassDocumentValidation',
  'collMod',
  'convertToCapped',
  'createCollection',
  'createIndex',
  'dropCollection',
  'insert',
];

export function clusterMonitorActions(version: ServerVersion): string[] {
  return [
    'checkFreeMonitoringStatus',
    'connPoolStats',
    'getCmdLineOpts',
    'getDefaultRWConcern',
    'getLog',
    'getParameter',
    'getShardMap',
    'hostInfo',
    'inprog',
    'listDatabases',
    'listSessions',
    'listShards',
    'netstat',
    'operationMetrics',
    'replSetGetConfig',
    'replSetGetStatus',
    'serverStatus',
    'shardingState',
    'top',
    'useUUID',
    ...(version.atLeast(6) ? ['shardedDataDistribution'] : []),
    ...(version.atLeast(7) ? ['listSampledQueries'] : []),
  ];
}

export const hostManagerActions = [
  'applicationMessage',
  'auditConfigure',
  'connPoolSync',
  'dropConnections',
  'flushRouterConfig',
  'fsync',
  'invalidateUserCache',
  'killAnyCursor',
  'killAnySession',
  'killop',
  'logRotate',
  'oidReset',
  'replSetResizeOplog',
  'resync',
  'rotateCertificates',
  'setParameter',
  'shutdown',
  'touch',
  'trafficRecord',
  'unlock',
];

export function clusterManagerActions(version: ServerVersion): string[] {
  return [
    'addShard',
    'appendOplogNote',
    'applicationMessage',
    'cleanupOrphaned',
    'flushRouterConfig',
    'getDefaultRWConcern',
    'listSessions',
    'listShards',
    'removeShard',
    'replSetConfigure',
    'replSetGetConfig',
    'replSetGetStatus',
    'replSetStateChange',
    'resync',
    'runTenantMigration',
    'setDefaultRWConcern',
    'setFeatureCompatibilityVersion',
    'setFreeMonitoring',
    ...(version.atLeast(6) ? ['getClusterParameter', 'setClusterParameter'] : []),
    ...(version.atLeast(7) ? ['checkMetadataConsistency'] : []),
    ...(version.atLeast(8) ? ['transitionFromDedicatedConfigServer', 'transitionToDedicatedConfigServer'] : []),
  ];
}
