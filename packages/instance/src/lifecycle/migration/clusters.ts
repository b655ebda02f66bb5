import { isDeepStrictEqual } from 'node:util';
import { displayHost } from '@convoy/api/connection/connection-string';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import type { Waits } from '../../cluster/calls-in-flight.js';
import { DeferredCluster } from '../../cluster/deferred-cluster.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { openCluster } from '../../cluster/open-cluster.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { isOpeningDecided, type MigrationRecord, type Reversal } from '../../store/migration-record.js';
import { homeOf, sourceShardsOf } from '../../store/reversal.js';
import type { Runtime } from './runtime.js';

/** Names of the two configured clusters. */
export type ClusterName = 'cluster0' | 'cluster1';

/** Checks that a name in the contract's `source` or `destination` is a configured cluster. */
export function isClusterName(name: string): name is ClusterName {
  return name === 'cluster0' || name === 'cluster1';
}

/** @throws ConvoyError `clusterUnknown` */
export function requireClusterName(name: string): ClusterName {
  if (isClusterName(name)) return name;
  throw new ConvoyError(
    'clusterUnknown',
    `${JSON.stringify(name.slice(0, 100))} is not a configured cluster; use cluster0 and cluster1.`,
  );
}

/** How the instance reads the source. */
export type SourceAccess = ClusterClient['access'];

/** Connects to a cluster once, by its configured connection string; tests pass their own function. */
export type Connect = (
  config: InstanceConfig,
  name: ClusterName,
  access: SourceAccess,
  signal: AbortSignal,
  waits?: Waits,
) => Promise<ClusterClient>;

/** Connects to a configured cluster through its router, and retries while it is unreachable. */
export function openDestination(
  runtime: Runtime,
  name: ClusterName,
  signal: AbortSignal,
  connect: Connect = connectConfigured,
): Promise<ClusterClient> {
  return runtime.retrying(
    `connect to ${name}`,
    () => connect(runtime.config, name, 'router', signal, runtime.waits),
    signal,
  );
}

/**
 * Connects to a configured cluster as a source, and retries while it is unreachable. A recorded migration or the
 * configuration decides between direct access and the router. With `auto`, access is direct where every shard allows
 * it.
 * @param recorded how the migration reads its source; null before a migration is recorded
 * @throws ConvoyError as `connectConfigured`; `optionsDiffer` when the configuration forces the other access
 */
export async function openSource(
  runtime: Runtime,
  name: ClusterName,
  recorded: SourceAccess | null,
  signal: AbortSignal,
  connect: Connect = connectConfigured,
): Promise<ClusterClient> {
  const { sourceAccess } = runtime.config;
  if (recorded !== null && sourceAccess !== 'auto' && sourceAccess !== recorded) {
    throw new ConvoyError(
      'optionsDiffer',
      `The migration reads its source by sourceAccess ${recorded}; give this instance the same, or auto.`,
    );
  }
  return runtime.retrying(
    `connect to ${name}`,
    () => connectSource(runtime.config, name, recorded ?? sourceAccess, signal, connect, runtime.waits),
    signal,
  );
}

/**
 * Connects to the source of a recorded migration, by the recorded access.
 * @throws ConvoyError as `openSource`; `wrongCluster` when the name now leads to another cluster
 */
export async function openRecordedSource(
  runtime: Runtime,
  { source: { name, clusterId }, access }: MigrationRecord,
  signal: AbortSignal,
  connect: Connect,
): Promise<ClusterClient> {
  const source = await openSource(runtime, requireClusterName(name), access, signal, connect);
  if (source.clusterId === clusterId) return source;
  await source.close();
  throw new ConvoyError('wrongCluster');
}

/**
 * A migration's source with the shards that it had at the start: tasks divide its documents by their number, so a shard
 * that has joined since must not change it.
 */
export function withRecordedShards(source: ClusterClient, record: MigrationRecord): ClusterClient {
  const shardIds = sourceShardsOf(record);
  return isDeepStrictEqual(source.shardIds, shardIds) ? source : { ...source, shardIds };
}

/** Whether a migration continues without its source: the opening is decided, and its state is on the destination. */
export function mayLackSource(record: MigrationRecord): boolean {
  return (
    record.failure === null && isOpeningDecided(record) && homeOf(record).clusterId === record.destination.clusterId
  );
}

/**
 * Whether a cluster holds the state of a migration that continues without the other cluster, which may be gone for
 * good.
 */
export function sparesOther(record: MigrationRecord | null, { name, clusterId }: ClusterClient): boolean {
  return (
    record !== null &&
    mayLackSource(record) &&
    record.destination.name === name &&
    record.destination.clusterId === clusterId
  );
}

/** The source of a recorded migration that may lack it. The first command connects, as `openRecordedSource` does. */
export function deferredSource(runtime: Runtime, record: MigrationRecord, connect: Connect): ClusterClient {
  const {
    source: { name, clusterId },
    access,
  } = record;
  const host = displayHost(runtime.config[requireClusterName(name)].reveal());
  const known = {
    name,
    clusterId,
    access,
    displayHost: host,
    shardIds: sourceShardsOf(record),
  };
  const once: Runtime = { ...runtime, retrying: (_what, operation) => operation() };
  return new DeferredCluster(known, (signal) => openRecordedSource(once, record, signal, connect));
}

/**
 * Connects to a configured cluster as a source, once. With `auto`, it uses the router when the shards cannot be read
 * directly; `directRefusal` gives the reason.
 */
export async function connectSource(
  config: InstanceConfig,
  name: ClusterName,
  access: SourceAccess | 'auto',
  signal: AbortSignal,
  connect: Connect = connectConfigured,
  waits?: Waits,
): Promise<ClusterClient> {
  if (access !== 'auto') return connect(config, name, access, signal, waits);
  try {
    return await connect(config, name, 'direct', signal, waits);
  } catch (error) {
    if (!isConvoyError(error, 'shardsNotReachable')) throw error;
    return { ...(await connect(config, name, 'router', signal, waits)), directRefusal: error.errorDescription };
  }
}

/**
 * Connects to a configured cluster, once.
 * @param access `direct` also connects a `NodeClient` to every shard
 * @throws ConvoyError as `openCluster`
 */
export async function connectConfigured(
  config: InstanceConfig,
  name: ClusterName,
  access: SourceAccess,
  signal: AbortSignal,
  waits?: Waits,
): Promise<ClusterClient> {
  const direct = access === 'direct';
  const credentials = config.shards[name];
  const shardCredentials =
    credentials === undefined ? {} : { shardCredentials: { ...credentials, password: credentials.password.reveal() } };
  const readPreference = direct && config.readPreference !== 'primary' ? { readPreference: config.readPreference } : {};
  const options = { direct, signal, waits, poolSizeMax: poolSize(config), ...shardCredentials, ...readPreference };
  return openCluster(name, config[name].reveal(), options);
}

/** Connections for state, streams and cursors, in addition to those of readers, writers and apply workers. */
const otherConnections = 8;

function poolSize(config: InstanceConfig): number {
  return config.readers + config.writers + config.applyWorkers + otherConnections;
}

/** Connects to the destination as a reverse would, by the recorded access or the one that its shards allow now. */
export function openPlannedSource(
  runtime: Runtime,
  destination: ClusterClient,
  recorded: MigrationRecord | null,
  connect: Connect,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const accessBack = recorded?.reversal?.accessBack ?? null;
  return openSource(runtime, requireClusterName(destination.name), accessBack, signal, connect);
}

/** What a reversible migration records of its destination: its access and its shards. */
export async function planReversal(
  runtime: Runtime,
  clusters: { source: ClusterClient; destination: ClusterClient },
  recorded: MigrationRecord | null,
  connect: Connect,
  signal: AbortSignal,
): Promise<Reversal> {
  const { source, destination } = clusters;
  const next = await openPlannedSource(runtime, destination, recorded, connect, signal);
  await next.close();
  const shards = { sourceShards: [...source.shardIds], destinationShards: [...next.shardIds] };
  return { turns: 0, ...shards, accessBack: next.access, openedAt: null, openedCatalogEpoch: null, isOver: false };
}

/** The refusal of a reverse whose state is gone. */
export function cleanedUp(): ConvoyError {
  return new ConvoyError('notReversible', 'The migration was cleaned up, so it can no longer be reversed.');
}

/** @throws ConvoyError `notReversible` */
export function requireReversible(record: MigrationRecord): Reversal {
  const { reversal } = record;
  if (!reversal) throw new ConvoyError('notReversible');
  if (reversal.isOver) throw cleanedUp();
  return reversal;
}

/**
 * Connects to the destination as the future source.
 * @throws ConvoyError `wrongCluster`, `reversibleNeedsEqualShardCounts` when its shards have changed since
 */
export async function openNextSource(
  runtime: Runtime,
  record: MigrationRecord,
  connect: Connect,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const { accessBack, destinationShards } = requireReversible(record);
  const { name, clusterId } = record.destination;
  const next = await openSource(runtime, requireClusterName(name), accessBack, signal, connect);
  try {
    if (next.clusterId !== clusterId) throw new ConvoyError('wrongCluster');
    requireShards(name, destinationShards, next.shardIds);
    return next;
  } catch (error) {
    await next.close();
    throw error;
  }
}

/** @throws ConvoyError `reversibleNeedsEqualShardCounts` when a cluster has other shards than recorded */
export function requireShards(name: string, recorded: readonly string[], present: readonly string[]): void {
  if ([...recorded].sort().join() === [...present].sort().join()) return;
  throw new ConvoyError(
    'reversibleNeedsEqualShardCounts',
    `Shards of ${name} were added or removed since the start, which a reverse cannot bridge.`,
  );
}
