import type { MongoClient, Timestamp } from 'mongodb';

/** Clients of all steps, and what one leaves for the next. */
export interface LoadState {
  router: MongoClient;
  shard: MongoClient;
  documents: number;
  /** When the writes of the hashed collection began, for snapshot reads and streams. */
  started: Map<ChangeKind, Timestamp>;
  /** The shard's documents of the hashed collection before their deletion. */
  shardDocuments: number;
}

/** Documents and bytes of a step. */
export interface Moved {
  documents: number;
  bytes: number;
}

/** Use of the driver: its public API with plain documents, or ready-made bytes in both directions. */
export type DriverUse = 'plain' | 'raw';

export type ShardKeyKind = 'hashed' | 'ranged';

/** One measured step of a load process. */
export type LoadStep =
  /** Inserts every document into the collection of this key, in batches through the router. */
  | { kind: 'insert'; key: ShardKeyKind; use: DriverUse }
  /**
   * Updates every document of the hashed collection by `$set`, or deletes it, by `_id` in unordered batches through the
   * router.
   */
  | { kind: 'change'; change: 'update' | 'delete' }
  /** Reads the whole collection through the router. */
  | { kind: 'read'; key: ShardKeyKind; use: DriverUse }
  /** Reads the hashed collection in `_id` order as it was before its updates. */
  | { kind: 'snapshot'; from: 'router' | 'shard' }
  /** Reads the events of all inserts, updates or deletes of the hashed collection. */
  | { kind: 'stream'; events: ChangeKind; from: 'router' | 'shard' };

export type ChangeKind = 'insert' | 'update' | 'delete';

/** The order of a load process, as JSON in its argument. */
export interface LoadOrder {
  /** Connection string of the router, or of the bare echo. */
  connectionString: string;
  /** Direct connection string of one shard. */
  shardConnectionString: string;
  /** The server process, whose CPU time is separate from the load's own. */
  serverPid: number;
  documents: number;
  steps: LoadStep[];
}

/** Cost of one step. */
export interface StepResult {
  documents: number;
  /** Bytes of the documents or events themselves. */
  bytes: number;
  seconds: number;
  clientCpu_seconds: number;
  serverCpu_seconds: number;
  serverMemoryBytes: number;
}

/** The last line of a load process's output; one result per step. */
export interface LoadReport {
  measured: StepResult[];
}

/** Documents per insert command and per cursor batch. */
export const batchDocuments = 1_000;
