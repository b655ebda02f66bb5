import type { ReleaseSeries } from '../node/server-version.js';

/** What the main thread of a simulator process orders its worker to run. */
export interface WorkerOrder {
  readonly kind: 'cluster' | 'replicaSet';
  readonly shards: number;
  readonly routers: number;
  /** 127.0.0.1 when left out. */
  readonly host?: string;
  readonly port: number;
  readonly version: ReleaseSeries;
  /** Access control without users: the localhost exception lets a client make the first one. */
  readonly auth: boolean;
  readonly limits: { readonly oplogBytesMax?: number; readonly snapshotWindowSeconds?: number };
}

/** Where a cluster listens, each server as `host:port`. */
export interface ClusterAddresses {
  /** The first router. */
  readonly router: string;
  readonly routers: readonly string[];
  readonly config: string;
  readonly shards: readonly string[];
  readonly connectionString: string;
}

/** Where a replica set listens. */
export interface ReplicaSetAddresses {
  /** `host:port` of its member. */
  readonly replicaSet: string;
  readonly setName: string;
  readonly connectionString: string;
}

/** One line of orders for faults, as `runFaultLine` takes it. */
export interface FaultMessage {
  readonly faultLine: string;
}

/** The line that answers an order. */
export interface FaultAnswer {
  readonly answer: string;
}

/** The worker's answer once its servers listen. */
export type ReadyMessage = ClusterAddresses | ReplicaSetAddresses;
