import { mapBounded } from '../../async/together.js';
import { listCollections, type ListedNamespace, listNamespaces } from '../../catalog/list-namespaces.js';
import { compileNamespaceFilter } from '../../catalog/namespace-filter.js';
import type { ClusterClient, NodeClient } from '../../cluster/node-client.js';
import { type Item, listedItem, type Scope } from '../item.js';

/** Shards that are asked at once. */
const shardsParallel = 8;

const everything = compileNamespaceFilter({ includeNamespaces: [], excludeNamespaces: [] });

/** Names of collections of the servers in the databases `admin`, `config` and `local`, of all releases to 8.0. */
const serverCollections = {
  admin: new Set(['tempusers', 'temproles', 'fsyncLock']),
  config: new Set([
    'actionlog',
    'agg_temp_collections',
    'analyzeShardKeySplitPoints',
    'change_stream_coordinator',
    'changelog',
    'chunks',
    'clusterParameters',
    'collection_critical_sections',
    'collections',
    'compact_structured_encryption_coordinator',
    'csrs.indexes',
    'databases',
    'external_validation_keys',
    'image_collection',
    'lockpings',
    'locks',
    'migrationCoordinators',
    'migrationRecipients',
    'migrations',
    'mongos',
    'placementHistory',
    'queryAnalyzers',
    'rangeDeletions',
    'rangeDeletionsForRename',
    'reshardingOperations',
    'sampledQueries',
    'sampledQueriesDiff',
    'settings',
    'shard.collections',
    'shard.indexes',
    'shardMergeRecipients',
    'shardRemovalLog',
    'shardSplitDonors',
    'sharding_configsvr_coordinators',
    'shards',
    'tags',
    'tenantMigrationDonors',
    'tenantMigrationRecipients',
    'transaction_coordinators',
    'transactions',
    'user_writes_critical_sections',
    'vectorClock',
    'version',
  ]),
  local: new Set(['clustermanager', 'me', 'oplog.$main', 'oplog.rs', 'startup_log', 'temp_oplog_buffer']),
} as const;

/** Beginnings of such names. */
const serverPrefixes = [
  'system.',
  'cache.',
  'replset.',
  'localResharding',
  'localRename',
  'localGlobal',
  'localMigration',
];

/**
 * Collections that users have made in the servers' own databases. A router shows `admin` and `config`; `local` belongs
 * to a single server.
 */
export async function readOwnCollections({ router, kind }: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  const databases = kind === 'replicaSet' ? (['admin', 'config', 'local'] as const) : (['admin', 'config'] as const);
  const items: Item[] = [];
  for (const database of databases) items.push(...(await ownCollectionsOf(router, database, '', signal)));
  return items;
}

/** The same in `local` of each shard, where shards are read directly. */
export async function readLocalOfShards(cluster: ClusterClient, signal: AbortSignal): Promise<Item[]> {
  if (cluster.kind !== 'sharded' || cluster.access !== 'direct') return [];
  const found = await mapBounded(cluster.shardIds, shardsParallel, (id) =>
    ownCollectionsOf(cluster.shard(id), 'local', ` on ${id}`, signal),
  );
  return found.flat();
}

/** @param where what follows the name: where the database is, unless the cluster has one of the name */
async function ownCollectionsOf(
  client: NodeClient,
  database: keyof typeof serverCollections,
  where: string,
  signal: AbortSignal,
): Promise<Item[]> {
  const listed = await listCollections(client, database, signal);
  return listed
    .filter(({ name }) => isUsers(database, name))
    .map(({ name, type }) =>
      listedItem('ownCollections', `${database}.${name}${where}`, type, { of: 'databases', databases: [database] }),
    );
}

function isUsers(database: keyof typeof serverCollections, name: string): boolean {
  if (name === 'system.js') return true;
  return !serverCollections[database].has(name) && !serverPrefixes.some((prefix) => name.startsWith(prefix));
}

/** Every collection and view that a migration without a filter includes. */
export function listUsersNamespaces({ router }: ClusterClient, signal: AbortSignal): Promise<ListedNamespace[]> {
  return listNamespaces(router, everything, signal);
}

/** What a migration takes along with its collections: stored functions, pre-images, validators that only warn. */
export function migratedItems(listed: readonly ListedNamespace[]): Item[] {
  return listed.flatMap(({ database, name, options }) => {
    const namespace = `${database}.${name}`;
    const scope: Scope = { of: 'namespaces', namespaces: [namespace] };
    const images = options.changeStreamPreAndPostImages as { enabled?: boolean } | undefined;
    return [
      ...(name === 'system.js' ? [listedItem('functions', namespace, 'stored functions', scope)] : []),
      ...(images?.enabled === true || options.recordPreImages === true
        ? [listedItem('preImages', namespace, 'recorded for change streams', scope)]
        : []),
      ...(options.validator !== undefined && options.validationAction === 'warn'
        ? [listedItem('validators', namespace, 'validationAction warn', scope)]
        : []),
    ];
  });
}
