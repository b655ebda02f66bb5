import { CommandError, type CommandRequest } from '../../node/command.js';
import type { PrivilegeSet } from '../privilege/privilege-set.js';
import { clusterResource } from '../privilege/resource.js';

/**
 * Commands that read, write or define users' data. A shard answers all others to every client (manual: "Shard Direct
 * Commands").
 */
const keptToRouters: ReadonlySet<string> = new Set([
  'aggregate',
  'bulkWrite',
  'collMod',
  'collStats',
  'count',
  'create',
  'createIndexes',
  'dbStats',
  'delete',
  'distinct',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'find',
  'findAndModify',
  'insert',
  'listCollections',
  'listIndexes',
  'update',
]);

const internalDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/**
 * Refuses data commands that clients send to a shard without the privilege, as clusters of feature version 8.0 do
 * (server source: direct_connection_util.cpp).
 * @throws CommandError 13
 */
export function refuseDirectAccess({ name, db }: CommandRequest, privileges: PrivilegeSet): void {
  if (
    !keptToRouters.has(name) ||
    internalDatabases.has(db) ||
    privileges.allows(clusterResource, 'issueDirectShardOperations')
  )
    return;
  throw new CommandError(
    13,
    'Unauthorized',
    'You are connecting to a sharded cluster improperly by connecting directly to a shard. Please connect to ' +
      'the cluster via a router (mongos).',
  );
}
