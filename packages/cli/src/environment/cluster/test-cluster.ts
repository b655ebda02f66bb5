import type { ScratchFolder } from '../process/scratch-folder.js';

/** A whole cluster of this machine, for tests, the demo and benchmarks. */
export interface TestCluster extends AsyncDisposable {
  readonly kind: 'sharded' | 'replicaSet';
  /** For messages: what the servers are, for example `simulator` or `mongod`. */
  readonly backend: 'simulator' | 'binaries';
  /** Server version as numbers, for example [5, 0, 7]. */
  readonly version: readonly [number, number, number];
  /** To the router, or to the members of the replica set. */
  readonly connectionString: string;
  /** In the order of `listShards`; a replica set is one shard under its set name. */
  readonly shardIds: readonly string[];
  /** Processes of its servers, for their CPU time and memory. */
  readonly pids: readonly number[];
  /** Straight to the primary of one shard. */
  shardConnectionString(id: string): string;
  /** Ends all servers; their data is gone. */
  close(): Promise<void>;
}

export interface TestClusterOptions {
  /** For messages and log files, for example `source`. */
  name: string;
  /** Number of shards of a sharded cluster, or a plain replica set. */
  topology: { shards: number } | 'replicaSet';
  /** Where logs and data go. */
  folder: ScratchFolder;
}
