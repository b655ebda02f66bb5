import type { InventoryKind } from '@convoy/api/contract/inventory';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { codeOf, failureName, isNetworkFailure, unauthorizedCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import type { ClusterInventory, Item, Login } from './item.js';
import { readRoles, readUsers } from './read/access.js';
import {
  readClusterParameters,
  readDefaultConcerns,
  readProfiler,
  readQuerySettings,
} from './read/cluster-settings.js';
import { listUsersNamespaces, migratedItems, readOwnCollections } from './read/collections.js';
import {
  type FormerBalancer,
  readBalancerSettings,
  readBalancing,
  readPrimaries,
  readZones,
} from './read/sharding-settings.js';

/** CommandNotFound and CommandNotSupported: a release, or a service, without the command has nothing to show. */
const absentCodes: ReadonlySet<number | null> = new Set([59, 115]);

/** The privilege without which a kind is not readable, and a role that has it. */
export const readPrivileges: Readonly<Record<InventoryKind, string>> = {
  zones: 'find on config (role clusterMonitor)',
  balancing: 'find on config (role clusterMonitor)',
  users: 'find on admin.system.users and admin.system.roles (role backup)',
  roles: 'find on admin.system.roles (role backup)',
  defaultConcerns: 'getDefaultRWConcern on the cluster (role clusterMonitor)',
  clusterParameters: 'getClusterParameter on the cluster (role clusterManager)',
  querySettings: 'querySettings on the cluster (role clusterManager)',
  ownCollections: 'listCollections on admin and config, on a replica set also on local (role clusterMonitor)',
  balancer: 'find on config (role clusterMonitor)',
  chunkSize: 'find on config (role clusterMonitor)',
  autoMerger: 'find on config (role clusterMonitor)',
  profiler: 'find on system.profile of every database (role backup)',
  primaries: 'find on config (role clusterMonitor)',
  functions: 'listCollections on every database (role readAnyDatabase)',
  preImages: 'listCollections on every database (role readAnyDatabase)',
  validators: 'listCollections on every database (role readAnyDatabase)',
};

/**
 * Reads what a cluster has besides data, indexes, options and shard keys. It changes nothing. A kind that the user may
 * not read is in `unreadable`.
 * @param former the balancer before a migration stopped it; null while none has
 * @throws what a cluster that cannot be reached throws
 */
export async function readInventory(
  cluster: ClusterClient,
  former: FormerBalancer | null,
  signal: AbortSignal,
): Promise<ClusterInventory> {
  const unreadable = new Map<InventoryKind, string>();
  const items: Item[] = [];
  const read = async (kinds: readonly InventoryKind[], reading: () => Promise<Item[]>): Promise<void> => {
    try {
      items.push(...(await reading()));
    } catch (error) {
      const reason = reasonOf(error, kinds[0] ?? 'zones');
      if (reason !== null) for (const kind of kinds) unreadable.set(kind, reason);
    }
  };
  await read(['zones'], () => readZones(cluster, signal));
  await read(['balancing'], () => readBalancing(cluster, signal));
  await read(['users'], () => readUsers(cluster, signal));
  await read(['roles'], () => readRoles(cluster, signal));
  await read(['defaultConcerns'], () => readDefaultConcerns(cluster, signal));
  await read(['clusterParameters'], () => readClusterParameters(cluster, signal));
  await read(['querySettings'], () => readQuerySettings(cluster, signal));
  await read(['ownCollections'], () => readOwnCollections(cluster, signal));
  await read(['balancer', 'chunkSize', 'autoMerger'], () => readBalancerSettings(cluster, former, signal));
  await read(['primaries'], () => readPrimaries(cluster, signal));
  let databases: string[] = [];
  await read(['functions', 'preImages', 'validators'], async () => {
    const listed = await listUsersNamespaces(cluster, signal);
    databases = [...new Set(listed.map(({ database }) => database))];
    return migratedItems(listed);
  });
  if (showsProfiler(cluster)) await read(['profiler'], () => readProfiler(cluster, databases, signal));
  else unreadable.set('profiler', 'Each shard has its own, which routers do not show.');
  const { name, kind, shardIds } = cluster;
  return { cluster: name, topology: kind, shardIds, items, unreadable, logins: await readLogins(cluster, signal) };
}

function showsProfiler({ kind, access }: ClusterClient): boolean {
  return kind === 'replicaSet' || access === 'direct';
}

/** @returns null for what the cluster does not have */
function reasonOf(error: unknown, kind: InventoryKind): string | null {
  if (error instanceof ConvoyError) return error.errorDescription;
  const code = codeOf(error);
  if (code === null || isNetworkFailure(error)) throw error;
  if (absentCodes.has(code)) return null;
  return code === unauthorizedCode
    ? `The user lacks ${readPrivileges[kind]}.`
    : `The server refuses: ${failureName(error)}.`;
}

async function readLogins({ router }: ClusterClient, signal: AbortSignal): Promise<Login[]> {
  const { authInfo } = await router.command('admin', { connectionStatus: 1 }, { signal });
  return ((authInfo as Document | undefined)?.authenticatedUsers as Login[] | undefined) ?? [];
}
