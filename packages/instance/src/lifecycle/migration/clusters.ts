import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { DeferredCluster } from '../../cluster/deferred-cluster.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import { displayHost } from '../../cluster/driver/connection-string.js';
import { openCluster } from '../../cluster/open-cluster.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { isOpeningDecided, type MigrationRecord } from '../../store/migration-record.js';
import { homeOf, sourceShardOf } from '../../store/reversal.js';
import type { Runtime } from './runtime.js';

/** Names under which the two clusters are configured. */
export type ClusterName = 'cluster0' | 'cluster1';

/** Whether a name of the contract's `source` and `destination` is a configured cluster's. */
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

/** How a source is read. */
export type SourceAccess = ClusterClient['access'];

/** How a cluster is connected to, once: by its configured connection string, unless a test puts its own way in place. */
export type Connect = (
  config: InstanceConfig,
  name: ClusterName,
  access: SourceAccess,
  signal: AbortSignal,
) => Promise<ClusterClient>;

/** Connects to a configured cluster for its router, retrying while it cannot be reached. */
export function openDestination(
  runtime: Runtime,
  name: ClusterName,
  signal: AbortSignal,
  connect: Connect = connectConfigured,
): Promise<ClusterClient> {
  return runtime.retrying(`connect to ${name}`, () => connect(runtime.config, name, 'router', signal), signal);
}

/**
 * Connects to a configured cluster as a source, retrying while it cannot be reached: straight to its shards or through
 * its router, as a migration that was begun does or the configuration says; left to itself, straight where every shard
 * lets itself be read.
 * @param recorded how the migration reads its source; null when none was begun
 * @throws ConvoyError as `connectConfigured`; `optionsDiffer` when the configuration forces the other way
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
    () => connectSource(runtime.config, name, recorded ?? sourceAccess, signal, connect),
    signal,
  );
}

/**
 * Connects to the source of a recorded migration, in the way that is recorded.
 * @throws ConvoyError as `openSource`; `wrongCluster` when it is another cluster by now
 */
export async function openRecordedSource(
  runtime: Runtime,
  { source: { name, clusterId }, access }: Pick<MigrationRecord, 'source' | 'access'>,
  signal: AbortSignal,
  connect: Connect = connectConfigured,
): Promise<ClusterClient> {
  const source = await openSource(runtime, requireClusterName(name), access, signal, connect);
  if (source.clusterId === clusterId) return source;
  await source.close();
  throw new ConvoyError('wrongCluster');
}

/** Whether a migration goes on without its source: the opening is decided, and its state is on the destination. */
export function mayLackSource(record: MigrationRecord): boolean {
  return (
    record.failure === null && isOpeningDecided(record) && homeOf(record).clusterId === record.destination.clusterId
  );
}

/**
 * Whether a cluster holds the state of a migration that goes on without the other one, which may be gone for good then.
 */
export function sparesOther(
  record: MigrationRecord | null,
  { name, clusterId }: Pick<ClusterClient, 'name' | 'clusterId'>,
): boolean {
  return (
    record !== null &&
    mayLackSource(record) &&
    record.destination.name === name &&
    record.destination.clusterId === clusterId
  );
}

/** The source of a recorded migration that may lack it: connected to when it is first asked something, as `openRecordedSource` does. */
export function deferredSource(
  runtime: Runtime,
  record: MigrationRecord,
  connect: Connect = connectConfigured,
): ClusterClient {
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
    shardIds: record.taskIds.map((id) => sourceShardOf(record, id)),
  };
  const once: Runtime = { ...runtime, retrying: (_what, operation) => operation() };
  return new DeferredCluster(known, (signal) => openRecordedSource(once, record, signal, connect));
}

/** Connects to a configured cluster as a source, once. Left to itself, through the router where the shards cannot be read directly: `directRefusal` says why. */
export async function connectSource(
  config: InstanceConfig,
  name: ClusterName,
  access: SourceAccess | 'auto',
  signal: AbortSignal,
  connect: Connect = connectConfigured,
): Promise<ClusterClient> {
  if (access !== 'auto') return connect(config, name, access, signal);
  try {
    return await connect(config, name, 'direct', signal);
  } catch (error) {
    if (!(error instanceof ConvoyError) || error.error !== 'shardsNotReachable') throw error;
    return { ...(await connect(config, name, 'router', signal)), directRefusal: error.errorDescription };
  }
}

/**
 * Connects to a configured cluster, once.
 * @param access `direct` also opens a door to every shard
 * @throws ConvoyError as `openCluster`
 */
export async function connectConfigured(
  config: InstanceConfig,
  name: ClusterName,
  access: SourceAccess,
  signal: AbortSignal,
): Promise<ClusterClient> {
  const direct = access === 'direct';
  const credentials = config.shards[name];
  const shardCredentials =
    credentials === undefined ? {} : { shardCredentials: { ...credentials, password: credentials.password.reveal() } };
  const readPreference = direct && config.readPreference !== 'primary' ? { readPreference: config.readPreference } : {};
  const options = { direct, signal, poolSizeMax: poolSize(config), ...shardCredentials, ...readPreference };
  return openCluster(name, config[name].reveal(), options);
}

/** Connections for state, streams and cursors beside those of readers, writers and lanes. */
const otherConnections = 8;

function poolSize(config: InstanceConfig): number {
  return config.readers + config.writers + config.applyWorkers + otherConnections;
}
