import type { ReleaseSeries } from '@convoy/simulator/node/server-version';
import type { ScratchFolder } from '../process/scratch-folder.js';
import type { ClusterAddresses } from './access-control.js';

/** A whole cluster of this machine, for tests, the demo and benchmarks. */
export interface TestCluster extends ClusterAddresses, AsyncDisposable {
  readonly kind: 'sharded' | 'replicaSet';
  /** For messages: what the servers are, for example `simulator` or `mongod`. */
  readonly backend: 'simulator' | 'binaries' | 'containers';
  /** Server version as numbers, for example [5, 0, 7]. */
  readonly version: readonly [number, number, number];
  /** In the order of `listShards`; a replica set is one shard under its set name. */
  readonly shardIds: readonly string[];
  /** Processes of its servers, for their CPU time and memory; none of those in containers. */
  readonly pids: readonly number[];
  /** Straight to the primary of one shard; where there is access control, as root. */
  shardConnectionString(id: string): string;
  /** Ends all servers; their data is gone. */
  close(): Promise<void>;
}

export interface TestClusterOptions {
  /** For messages and log files, for example `source`. */
  name: string;
  /** Routers of a sharded cluster of binaries; one where none is given. */
  routers?: number;
  /** Number of shards of a sharded cluster, or a plain replica set. */
  topology: { shards: number } | 'replicaSet';
  /** How much oplog each shard keeps, when it is not to be plenty; real servers round it up to megabytes. */
  oplogBytes?: number;
  /** Simulated servers run in the process that starts them; by default they have one of their own. */
  isHere?: boolean;
  /** Release series that simulated servers behave as, for example 7.0; real ones are what they are. 5.0 when it is left out. */
  release?: ReleaseSeries;
  /** With access control and the users of `access-control.ts`, on every shard as well. Containers cannot have it. */
  withUsers?: boolean;
  /** Where logs and data go. */
  folder: ScratchFolder;
}
