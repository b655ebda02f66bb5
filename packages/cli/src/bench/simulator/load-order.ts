/** How the driver is used: its public API with plain documents, or documents as ready-made bytes in both directions. */
export type DriverUse = 'plain' | 'raw';

export type ShardKeyKind = 'hashed' | 'ranged';

/** One thing that a load process does and measures. */
export type LoadStep =
  /** Inserts every document into the collection of this key, in batches through the router. */
  | { kind: 'insert'; key: ShardKeyKind; use: DriverUse }
  /** Changes every document of the hashed collection by `$set`, or deletes it, by `_id` in unordered batches through the router. */
  | { kind: 'change'; change: 'update' | 'delete' }
  /** Reads the whole collection through the router. */
  | { kind: 'read'; key: ShardKeyKind; use: DriverUse }
  /** Reads the hashed collection in order of `_id` as it was before its updates. */
  | { kind: 'snapshot'; from: 'router' | 'shard' }
  /** Reads the events of all inserts, updates or deletes of the hashed collection. */
  | { kind: 'stream'; events: ChangeKind; from: 'router' | 'shard' };

export type ChangeKind = 'insert' | 'update' | 'delete';

/** What a load process is told to do, as JSON in its argument. */
export interface LoadOrder {
  /** To the router, or to the bare echo. */
  connectionString: string;
  /** Straight to one shard. */
  shardConnectionString: string;
  /** The process whose CPU time is told apart from the load's own. */
  serverPid: number;
  documents: number;
  steps: LoadStep[];
}

/** What one step took. */
export interface StepResult {
  documents: number;
  /** Bytes of the documents or events themselves. */
  bytes: number;
  seconds: number;
  clientCpu_seconds: number;
  serverCpu_seconds: number;
  serverMemoryBytes: number;
}

/** The last line of a load process's output; one result for each step. */
export interface LoadReport {
  measured: StepResult[];
}

/** Documents of one insert command and of one batch of a cursor. */
export const batchDocuments = 1_000;
