import { Binary } from 'bson';
import { CommandError, type CommandRequest } from '../../node/command.js';
import { collectionOf, databaseOf } from '../../node/namespace.js';
import type { PrivilegeSet } from '../privilege/privilege-set.js';
import { clusterResource } from '../privilege/resource.js';

/** A shard, as far as it refuses clients without a router. */
export interface DirectShard {
  /** Whether it leaves users' data to routers, as one of several shards does. */
  keepsToRouters(): boolean;
  /** The namespace of a collection of a database by its UUID; undefined if there is none. */
  namespaceOf(db: string, uuid: Binary): string | undefined;
}

/** Commands that open a collection. */
const ofCollections: ReadonlySet<string> = new Set([
  'aggregate',
  'collMod',
  'collStats',
  'count',
  'create',
  'createIndexes',
  'delete',
  'distinct',
  'drop',
  'dropIndexes',
  'find',
  'findAndModify',
  'insert',
  'listIndexes',
  'update',
]);

/** Commands that open a database. */
const ofDatabases: ReadonlySet<string> = new Set(['dbStats', 'dropDatabase', 'listCollections']);

const internalDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local']);

/** Collections of `config` that one node has for all: the others differ from shard to shard. */
const sharedConfig: ReadonlySet<string> = new Set([
  'changelog',
  'chunks',
  'collections',
  'csrs.indexes',
  'databases',
  'mongos',
  'placementHistory',
  'shards',
  'system.sessions',
  'tags',
  'version',
]);

const systemOfUsers = /^system\.(resharding|buckets)\./;

/**
 * Refuses clients that open a namespace of users on a shard without the privilege, as clusters of feature version 8.0
 * do. The namespace counts, whatever the command: a change stream opens the oplog, a UUID without a collection nothing
 * (server source: direct_connection_util.cpp, namespace_string.cpp).
 * @throws CommandError 13
 */
export function refuseDirectAccess(request: CommandRequest, privileges: PrivilegeSet, shard: DirectShard): void {
  if (!shard.keepsToRouters() || !opensUsersData(request, shard)) return;
  if (privileges.allows(clusterResource, 'issueDirectShardOperations')) return;
  throw new CommandError(
    13,
    'Unauthorized',
    'You are connecting to a sharded cluster improperly by connecting directly to a shard. Please connect to ' +
      'the cluster via a router (mongos).',
  );
}

function opensUsersData(request: CommandRequest, shard: DirectShard): boolean {
  const { name, db } = request;
  if (ofDatabases.has(name)) return !internalDatabases.has(db);
  if (name === 'aggregate' && isStream(request)) return false;
  const namespace = namespaceIn(request, shard);
  return namespace !== undefined && isOfUsers(namespace);
}

/** The namespace that a command opens; undefined if it opens none. */
function namespaceIn({ name, db, body }: CommandRequest, shard: DirectShard): string | undefined {
  const target = body.get(name);
  if (name === 'renameCollection' && typeof target === 'string') return target;
  if (!ofCollections.has(name)) return undefined;
  if (target instanceof Binary) return shard.namespaceOf(db, target);
  return typeof target === 'string' ? `${db}.${target}` : undefined;
}

function isStream({ body }: CommandRequest): boolean {
  const pipeline = body.get('pipeline');
  const [first] = Array.isArray(pipeline) ? pipeline : [];
  return first instanceof Map && first.has('$changeStream');
}

/** Whether a namespace has one content in the whole cluster. */
function isOfUsers(namespace: string): boolean {
  const [db, collection] = [databaseOf(namespace), collectionOf(namespace)];
  if (db === 'config') return sharedConfig.has(collection);
  if (db === 'local' || db === 'admin') return false;
  return !collection.startsWith('system.') || systemOfUsers.test(collection);
}
