import { type Cluster, type ClusterOptions, startCluster } from '@convoy/simulator/cluster/cluster';
import { startReplicaSet } from '@convoy/simulator/cluster/replica-set';
import type { ReleaseSeries } from '@convoy/simulator/node/server-version';
import { ScratchFolder } from '../process/scratch-folder.js';
import { addresses, testUsers } from './access-control.js';
import { backendVersion } from './backend-version.js';
import { startBinariesCluster } from './binaries-cluster.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/** A cluster for a test that runs in one process with what it tests. */
export interface LocalClusterOptions extends Pick<TestClusterOptions, 'topology' | 'oplogBytes' | 'withUsers' | 'routers'> {
  /** Release that the servers must be; 5.0 where none is named, or whatever release real servers have. */
  readonly release?: ReleaseSeries;
  /** How often idle simulated shards write an entry by themselves, in milliseconds; real ones write one every second. */
  readonly noopInterval_ms?: number;
}

/** What such a test needs of a cluster. */
export type LocalCluster = Pick<TestCluster, 'backend' | 'connectionString' | 'connectionStringOf' | 'close'>;

/**
 * Starts a cluster: real servers when MONGO_BIN names a folder with `mongod` and `mongos` and they are of the release,
 * otherwise a simulated one in this process, which takes some milliseconds.
 */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const binaries = process.env['MONGO_BIN'];
  return binaries && (await isRelease(options.release)) ? startBinaries(options, binaries) : startSimulated(options);
}

async function isRelease(release: ReleaseSeries | undefined): Promise<boolean> {
  const [major, minor] = await backendVersion();
  return release === undefined || release === `${major}.${minor}`;
}

async function startBinaries({ topology, oplogBytes, withUsers, routers }: LocalClusterOptions, binaries: string): Promise<LocalCluster> {
  const folder = ScratchFolder.create('servers');
  const sizes = { ...(oplogBytes !== undefined && { oplogBytes }), ...(routers !== undefined && { routers }) };
  const cluster = await startBinariesCluster({ name: 'servers', topology, withUsers: withUsers ?? false, folder, ...sizes }, binaries);
  const close = async (): Promise<void> => {
    await cluster.close();
    folder[Symbol.dispose]();
  };
  return { ...cluster, close };
}

async function startSimulated(options: LocalClusterOptions): Promise<LocalCluster> {
  const { topology, oplogBytes, withUsers = false, release, noopInterval_ms } = options;
  const given = {
    ...(release !== undefined && { version: release }),
    ...(withUsers && { auth: { users: testUsers, ...(topology !== 'replicaSet' && { shardUsers: testUsers }) } }),
    ...(oplogBytes !== undefined && { oplogBytesMax: oplogBytes }),
    ...(noopInterval_ms !== undefined && { noopIntervalMs: noopInterval_ms }),
  };
  const simulated = topology === 'replicaSet' ? await startReplicaSet(given) : await startSharded(topology.shards, { ...given, routers: options.routers ?? 1 });
  return { backend: 'simulator', ...addresses(simulated.connectionString, withUsers), close: () => simulated.close() };
}

/** The simulator's own address names its first router alone. */
async function startSharded(shards: number, options: Omit<ClusterOptions, 'shards'>): Promise<Pick<Cluster, 'connectionString' | 'close'>> {
  const cluster = await startCluster({ shards, ...options });
  return { connectionString: `mongodb://${cluster.routers.join(',')}/`, close: () => cluster.close() };
}
