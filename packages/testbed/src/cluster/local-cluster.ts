import {
  type ClusterOptions,
  type ReplicaSetOptions,
  type SimulatedCluster,
  startCluster,
  startReplicaSet,
} from '@convoy/simulator';
import { defaultVersion } from '@convoy/simulator/internal/node/server-version';
import { ScratchFolder } from '../process/scratch-folder.js';
import { addresses, configShardId, directTo, loginAs, membersOf, testUsers } from './access-control.js';
import { serversFor, serverVersion } from './server-version.js';
import { startBinariesCluster } from './binaries-cluster.js';
import { startContainersCluster } from './containers-cluster.js';
import { adminCommand } from './real-servers.js';
import type { TestCluster, TestClusterOptions } from './test-cluster.js';

/** A cluster for a test that runs in the same process as the tested code. */
export interface LocalClusterOptions extends Pick<
  TestClusterOptions,
  'side' | 'topology' | 'oplogBytes' | 'withUsers' | 'routers' | 'members' | 'release' | 'configShard' | 'tls'
> {
  /** Interval of no-op oplog entries of idle simulated shards, in milliseconds; real ones write one every second. */
  readonly noopInterval_ms?: number;
}

/** Options of such a cluster. */
export type LocalCluster = Pick<
  TestCluster,
  'backend' | 'connectionString' | 'connectionStringOf' | 'configConnectionString' | 'close'
>;

/**
 * Starts a cluster of the servers that the environment names for its side, or for the other one, if they are of the
 * requested release; otherwise a simulated one in this process, which takes some milliseconds.
 */
export async function startLocalCluster(options: LocalClusterOptions): Promise<LocalCluster> {
  const servers = await serversFor(options.release, options.side);
  if (servers.kind === 'simulator') return simulate(options);
  const { topology, oplogBytes, withUsers = false, routers, members, configShard = false, tls } = options;
  const folder = ScratchFolder.create('servers');
  const more = {
    ...(oplogBytes !== undefined && { oplogBytes }),
    ...(routers !== undefined && { routers }),
    ...(members !== undefined && { members }),
    ...(tls !== undefined && { tls }),
  };
  const wanted = { name: 'servers', topology, withUsers, folder, configShard, ...more };
  const cluster = await (servers.kind === 'binaries'
    ? startBinariesCluster(wanted, servers.folder)
    : startContainersCluster(wanted, servers.image));
  const close = async (): Promise<void> => {
    await cluster.close();
    folder[Symbol.dispose]();
  };
  return { ...cluster, close };
}

/**
 * A simulated cluster in this process. It starts within milliseconds, with already compiled code after the first one.
 */
export async function startSimulatedHere(options: LocalClusterOptions): Promise<TestCluster> {
  const cluster = await simulate(options);
  const login = options.withUsers === true;
  return {
    ...cluster,
    kind: options.topology === 'replicaSet' ? 'replicaSet' : 'sharded',
    version: await serverVersion(cluster.connectionStringOf('root')),
    shardIds: [...cluster.hosts.keys()],
    members: membersOf(cluster.hosts),
    pids: [],
    shardConnectionString: (id) => (login ? loginAs(directTo(cluster.hosts, id), 'root') : directTo(cluster.hosts, id)),
    [Symbol.asyncDispose]: () => cluster.close(),
  };
}

/** A simulated cluster, and each shard's `host:port` by id. */
async function simulate(options: LocalClusterOptions): Promise<LocalCluster & { hosts: ReadonlyMap<string, string> }> {
  const { topology, oplogBytes, withUsers = false, release, noopInterval_ms, configShard = false, tls } = options;
  if (tls !== undefined) throw new Error('Simulated servers have no TLS.');
  const major = Number.parseInt(release ?? defaultVersion.series, 10);
  const given = {
    ...(release !== undefined && { version: release }),
    ...(withUsers && {
      auth: {
        users: testUsers(configShard, major),
        ...(topology !== 'replicaSet' && { shardUsers: testUsers(true, major) }),
      },
    }),
    ...(oplogBytes !== undefined && { oplogBytesMax: oplogBytes }),
    ...(noopInterval_ms !== undefined && { noopIntervalMs: noopInterval_ms }),
  };
  const simulated =
    topology === 'replicaSet'
      ? await startMember(given)
      : await startSharded(topology.shards, { ...given, routers: options.routers ?? 1 }, configShard);
  const reached = addresses(simulated.connectionString, withUsers);
  if (configShard) await adminCommand(reached.connectionStringOf('root'), { transitionFromDedicatedConfigServer: 1 });
  return {
    backend: 'simulator',
    ...reached,
    hosts: simulated.hosts,
    close: () => simulated.close(),
  };
}

interface Simulated extends Pick<SimulatedCluster, 'connectionString' | 'close'> {
  hosts: ReadonlyMap<string, string>;
}

async function startMember(options: ReplicaSetOptions): Promise<Simulated> {
  const set = await startReplicaSet(options);
  return {
    connectionString: set.connectionString,
    hosts: new Map([[set.setName, set.host]]),
    close: () => set.close(),
  };
}

/** The simulator's own connection string names only its first router. */
async function startSharded(
  shards: number,
  options: Omit<ClusterOptions, 'shards'>,
  configShard: boolean,
): Promise<Simulated> {
  const cluster = await startCluster({ shards: configShard ? shards - 1 : shards, ...options });
  const hosts = new Map(cluster.shards.map((host, index) => [`shard${index}`, host]));
  if (configShard) hosts.set(configShardId, cluster.config);
  return { connectionString: `mongodb://${cluster.routers.join(',')}/`, hosts, close: () => cluster.close() };
}
