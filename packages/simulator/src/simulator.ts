import { type ClusterOptions, startWholeCluster } from './cluster/cluster.js';
import { closing } from './cluster/closing.js';
import type { MemberControl } from './cluster/member-control.js';
import type { NodeControl } from './cluster/node-control.js';
import { type ReplicaSetOptions, startWholeReplicaSet } from './cluster/replica-set.js';

export { startProcess, type ProcessOptions, type SimulatorProcess } from './process/start-process.js';
export type { ReleaseSeries } from './node/server-version.js';
export type { ClusterOptions, ReplicaSetOptions };

/** Faults of a router, a shard, the config server or the member of a replica set. */
export type NodeFaults = Pick<
  NodeControl,
  | 'name'
  | 'running'
  | 'stop'
  | 'start'
  | 'restart'
  | 'upgrade'
  | 'pause'
  | 'resume'
  | 'slowCommands'
  | 'slowConnections'
  | 'cutConnections'
  | 'cutAfterBytes'
  | 'cutWithinReply'
  | 'heal'
>;

/** Faults of a node that holds data. */
export type MemberFaults = NodeFaults & Pick<MemberControl, 'stepDown' | 'elect' | 'fillOplog'>;

/** A sharded cluster in this process. */
export interface SimulatedCluster extends AsyncDisposable {
  /** `mongodb://` address of the first router. */
  readonly connectionString: string;
  /** `host:port` of each router. */
  readonly routers: readonly string[];
  /** `host:port` of the config server. */
  readonly config: string;
  /** `host:port` of each shard, in the order of the ids `shard0`, `shard1`, … */
  readonly shards: readonly string[];
  /** The faults of a node: `router0`, …, `config`, `shard0`, … @throws RangeError for an unknown name */
  node(name: string): NodeFaults;
  /** The faults of a shard or of the config server. @throws RangeError for an unknown name */
  member(name: string): MemberFaults;
  /** Stops all nodes and discards their data. */
  close(): Promise<void>;
}

/** A replica set of one member in this process. */
export interface SimulatedReplicaSet extends AsyncDisposable {
  readonly connectionString: string;
  readonly setName: string;
  /** `host:port` of the member. */
  readonly host: string;
  /** The faults of the member. */
  readonly member: MemberFaults;
  /** Stops the member and discards its data. */
  close(): Promise<void>;
}

/** Starts a sharded cluster in this process, within milliseconds: shards, a config server and routers. */
export async function startCluster(options: ClusterOptions): Promise<SimulatedCluster> {
  const cluster = await startWholeCluster(options);
  const { connectionString, routers, config } = cluster;
  return {
    connectionString,
    routers,
    config,
    shards: cluster.shards,
    node: (name) => cluster.node(name),
    member: (name) => cluster.member(name),
    ...closing(() => cluster.close()),
  };
}

/** Starts a replica set of one member in this process. */
export async function startReplicaSet(options: ReplicaSetOptions = {}): Promise<SimulatedReplicaSet> {
  const set = await startWholeReplicaSet(options);
  const { connectionString, host, control: member } = set;
  const { setName } = set.member.identity;
  return { connectionString, setName, host, member, ...closing(() => set.close()) };
}
