import type { ReleaseSeries } from '@convoy/simulator';
import type { ScratchFolder } from '../process/scratch-folder.js';
import type { ClusterAddresses } from './access-control.js';
import type { MigrationSide } from './servers-of.js';

/** A whole cluster on this host, for tests, the demo and benchmarks. */
export interface TestCluster extends ClusterAddresses, AsyncDisposable {
  readonly kind: 'sharded' | 'replicaSet';
  /** Kind of servers, for messages, for example `simulator` or `mongod`. */
  readonly backend: 'simulator' | 'binaries' | 'containers';
  /** Server version as numbers, for example [5, 0, 7]. */
  readonly version: readonly [number, number, number];
  /** In the order of `listShards`; a replica set is one shard under its set name. */
  readonly shardIds: readonly string[];
  /** Server processes, for their CPU time and memory; none of containers. */
  readonly pids: readonly number[];
  /** Hosts of the members by shard, the first primary at first; of simulated shards there is one. */
  readonly members: ReadonlyMap<string, readonly string[]>;
  /** Hosts of the members of the config server of real servers, the first primary at first. */
  readonly configHosts?: readonly string[];
  /** Connection string of a shard's primary, direct where it has one member; with access control, as root. */
  shardConnectionString(id: string): string;
  /** Connection string of the config server of a sharded cluster of real servers; with access control, as root. */
  readonly configConnectionString?: string;
  /** Sends a signal to one server, for example to freeze it; only of binaries. */
  signal?(host: string, signal: NodeJS.Signals): void;
  /** Stops all servers and discards their data. */
  close(): Promise<void>;
}

/** PEM files of servers that require TLS, and of their clients. */
export interface TestTls {
  readonly caFile: string;
  /** Certificate and key of every server. */
  readonly serverFile: string;
  /** Certificate and key of clients. Without it servers accept clients that have none. */
  readonly clientFile?: string;
  /** The addresses under which servers know each other are not those of their certificates. */
  readonly allowsOtherHostNames?: boolean;
}

export interface TestClusterOptions {
  /** For messages and log files, for example `source`. */
  name: string;
  /** Chooses the servers: see `serversOf`. */
  side?: MigrationSide;
  /** Routers of a sharded cluster of real servers; 1 by default. */
  routers?: number;
  /** Members of the replica set, or of each shard's; 1 by default, and always where servers are simulated. */
  members?: number;
  /** Members of the config server of real servers; 1 by default. */
  configMembers?: number;
  /** The config server is one of the shards, the last, with the id `config` (from 8.0 on). */
  configShard?: boolean;
  /** All servers require TLS; only of binaries. */
  tls?: TestTls;
  /** Number of shards of a sharded cluster, or a plain replica set. */
  topology: { shards: number } | 'replicaSet';
  /** Oplog size of each shard, plentiful by default; real servers round it up to megabytes. */
  oplogBytes?: number;
  /** Runs simulated servers in this process; by default they have their own. */
  isHere?: boolean;
  /** Release of simulated servers, for example 7.0, and 8.0 by default; real ones have a fixed release. */
  release?: ReleaseSeries;
  /** With access control and the users of `access-control.ts`, on every shard too. */
  withUsers?: boolean;
  /** Folder of logs and data. */
  folder: ScratchFolder;
}
