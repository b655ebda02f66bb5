import { createHash } from 'node:crypto';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { parseConnectionString } from '../cluster/connection-string.js';
import type { Cluster } from '../cluster/door.js';
import { openCluster } from '../cluster/open-cluster.js';
import type { InstanceConfig } from '../config/instance-schema.js';
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
  throw new ConvoyError('clusterUnknown', `${JSON.stringify(name.slice(0, 100))} is not a configured cluster; use cluster0 and cluster1.`);
}

/** Connects to a configured cluster as `connectConfigured`, retrying while it cannot be reached. */
export function openConfigured(runtime: Runtime, name: ClusterName, direct: boolean, signal: AbortSignal): Promise<Cluster> {
  return runtime.retrying(`connect to ${name}`, () => connectConfigured(runtime.config, name, direct, signal), signal);
}

/**
 * Connects to a configured cluster, once.
 * @param direct also open a door to every shard
 * @throws ConvoyError as `openCluster`; `featureNotAvailable` when the source is to be read through its router
 */
export async function connectConfigured(config: InstanceConfig, name: ClusterName, direct: boolean, signal: AbortSignal): Promise<Cluster> {
  if (direct && config.sourceAccess === 'router') {
    throw new ConvoyError('featureNotAvailable', 'This release reads the source directly from its shards; sourceAccess "router" is not available yet.');
  }
  const credentials = config.shards[name];
  const shardCredentials = credentials === undefined ? {} : { shardCredentials: { ...credentials, password: credentials.password.reveal() } };
  const readPreference = direct && config.readPreference !== 'primary' ? { readPreference: config.readPreference } : {};
  const options = { direct, signal, poolSizeMax: poolSize(config), ...shardCredentials, ...readPreference };
  return openCluster(name, config[name].reveal(), options);
}

/** Connections for state, streams and cursors beside those of readers, writers and lanes. */
const otherConnections = 8;

function poolSize(config: InstanceConfig): number {
  return config.readers + config.writers + config.lanes + otherConnections;
}

/** Digest of both clusters' seed lists: equal for all instances of a fleet, and without users or passwords. */
export function clustersDigest(config: InstanceConfig): string {
  const hash = createHash('sha256');
  for (const name of ['cluster0', 'cluster1'] as const) {
    const { hosts } = parseConnectionString(config[name].reveal());
    hash.update([...hosts].sort().join(',')).update('\n');
  }
  return hash.digest('hex');
}
