import type { ReleaseSeries } from '../node/server-version.js';

/** What the main thread of a simulator process tells its worker to run. */
export interface WorkerOrder {
  readonly kind: 'cluster' | 'replicaSet';
  readonly shards: number;
  readonly routers: number;
  readonly port: number;
  readonly version: ReleaseSeries;
  readonly limits: { readonly oplogBytesMax?: number; readonly snapshotWindowSeconds?: number };
}
