import { carriedKinds } from '@convoy/api/contract/carry';
import type { Inventory, InventoryKind } from '@convoy/api/contract/inventory';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { Document } from 'mongodb';
import { ensureReached } from '../cluster/deferred-cluster.js';
import { classify, codeOf, failureName, unauthorizedCode } from '../cluster/failure.js';
import type { ClusterClient } from '../cluster/node-client.js';
import { CarryChoice } from './carry-choice.js';
import { compareInventories, leftBehind, tableOf } from './compare-inventories.js';
import type { ClusterInventory, Item, Login } from './item.js';
import { readRoles, readUsers } from './read/access.js';
import {
  readClusterParameters,
  readDefaultConcerns,
  readProfiler,
  readQuerySettings,
} from './read/cluster-settings.js';
import { listUsersNamespaces, migratedItems, readLocalOfShards, readOwnCollections } from './read/collections.js';
import {
  type FormerBalancer,
  readBalancerSettings,
  readBalancing,
  readPrimaries,
  readZones,
} from './read/sharding-settings.js';

/** Both clusters of a migration in their present roles. */
export interface InventoryOf {
  readonly source: ClusterClient;
  readonly destination: ClusterClient;
  readonly request: StartRequest;
  /** How often the clusters have swapped their roles. */
  readonly turns: number;
  /** Whether a reverse would be possible now. */
  readonly reverses: boolean;
  /** The balancers before the migration stopped them; null where it has not. */
  readonly former: { readonly source: FormerBalancer | null; readonly destination: FormerBalancer | null } | null;
  readonly now_ms: number;
}

/** Both clusters' items, read one after the other kind by kind and at the same time on both. */
export async function readBoth(
  { source, destination, former }: Pick<InventoryOf, 'source' | 'destination' | 'former'>,
  signal: AbortSignal,
): Promise<{ source: ClusterInventory; destination: ClusterInventory }> {
  const [here, there] = await Promise.all([
    readInventory(source, former?.source ?? null, signal),
    readInventory(destination, former?.destination ?? null, signal),
  ]);
  return { source: here, destination: there };
}

/** The inventory of both clusters, and what of it stays behind. */
export interface Taken {
  readonly inventory: Inventory;
  readonly left: readonly string[];
}

/**
 * Reads both clusters and compares them.
 * @throws what a cluster that cannot be reached throws
 */
export async function takeInventory(of: InventoryOf, signal: AbortSignal): Promise<Taken> {
  return inventoryOf(of, await readBoth(of, signal));
}

/** The inventory of two clusters that have been read. */
export function inventoryOf(
  { request, turns, reverses, now_ms }: Pick<InventoryOf, 'request' | 'turns' | 'reverses' | 'now_ms'>,
  { source, destination }: { source: ClusterInventory; destination: ClusterInventory },
): Taken {
  const choice = new CarryChoice(request, turns % 2 === 1);
  const rows = compareInventories(source, destination, choice);
  const inventory: Inventory = {
    at_ms: now_ms,
    source: source.cluster,
    destination: destination.cluster,
    carry: carriedKinds.filter((kind) => choice.kinds.has(kind)),
    ...tableOf(rows, source, destination, choice),
    reverse: reverses ? reverseTable(request, turns, source, destination) : null,
  };
  return { inventory, left: leftBehind(rows, choice) };
}

function reverseTable(
  request: StartRequest,
  turns: number,
  source: ClusterInventory,
  destination: ClusterInventory,
): Inventory['reverse'] {
  const back = new CarryChoice(request, turns % 2 === 0);
  return tableOf(compareInventories(destination, source, back), destination, source, back);
}

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
  ownCollections:
    'listCollections on admin and config, on a replica set or a shard itself also on local (role clusterMonitor)',
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
async function readInventory(
  cluster: ClusterClient,
  former: FormerBalancer | null,
  signal: AbortSignal,
): Promise<ClusterInventory> {
  await ensureReached(cluster, signal);
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
  let parameters: ReadonlySet<string> = new Set();
  await read(['clusterParameters'], async () => {
    const found = await readClusterParameters(cluster, signal);
    parameters = found.names;
    return found.items;
  });
  await read(['querySettings'], () => readQuerySettings(cluster, signal));
  await read(['ownCollections'], () => readOwnCollections(cluster, signal));
  await read(['ownCollections'], () => readLocalOfShards(cluster, signal));
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
  const { name, kind, version, shardIds } = cluster;
  const logins = await readLogins(cluster, signal);
  return { cluster: name, topology: kind, version, shardIds, items, unreadable, parameters, logins };
}

function showsProfiler({ kind, access }: ClusterClient): boolean {
  return kind === 'replicaSet' || access === 'direct';
}

/** Failures after which the same reading may succeed. */
const passingKinds: ReadonlySet<string> = new Set(['retryable', 'cursorLost', 'catalogChanged']);

/**
 * @returns null for what the cluster does not have
 * @throws a failure that passes
 */
function reasonOf(error: unknown, kind: InventoryKind): string | null {
  if (error instanceof ConvoyError) return error.errorDescription;
  const code = codeOf(error);
  // An election, or a server that shuts down, says nothing about what the user may read.
  if (code === null || passingKinds.has(classify(error))) throw error;
  if (absentCodes.has(code)) return null;
  return code === unauthorizedCode
    ? `The user lacks ${readPrivileges[kind]}.`
    : `The server refuses: ${failureName(error)}.`;
}

async function readLogins({ router }: ClusterClient, signal: AbortSignal): Promise<Login[]> {
  const { authInfo } = await router.command('admin', { connectionStatus: 1 }, { signal });
  return ((authInfo as Document | undefined)?.authenticatedUsers as Login[] | undefined) ?? [];
}
