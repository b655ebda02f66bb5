import type { Document, Timestamp } from 'mongodb';

/** A server release, for example [5, 0, 7]. */
export type Version = readonly [number, number, number];

/** Options of every call through the door. */
export interface CallOptions {
  /** Ends the call; the promise rejects with the signal's reason. */
  signal: AbortSignal;
  /** Server-side limit of the call in milliseconds (`maxTimeMS`). */
  maxTime_ms?: number;
  /** Cursors: documents per batch at most; given at the opening it holds for all later batches. */
  batchDocumentsMax?: number;
}

/** One reply of a cursor, its documents as the bytes that came over the wire. */
export interface RawBatch {
  documents: Uint8Array[];
  /** `_data` of the post-batch resume token; change streams only. */
  resumeToken?: string;
  /** The time a snapshot read was made at; absent when the collection did not exist at that time. */
  atClusterTime?: Timestamp;
  /** The node's operation time when it answered; of a router, no earlier than that of any shard whose documents are in the batch. */
  operationTime?: Timestamp;
  /** Bytes of all documents together. */
  bytes: number;
}

/** A server cursor that the caller owns: nothing resumes it behind the caller's back. */
export interface RawCursor {
  /** The batch that came with the cursor's opening. */
  readonly first: RawBatch;
  /** False once the server has said that there is nothing more. */
  readonly open: boolean;
  /**
   * Fetches the next batch. For awaiting cursors `maxTime_ms` is how long the server waits for data.
   * @throws the server's error, for example CursorNotFound (43) or QueryPlanKilled (175)
   */
  next(options: CallOptions): Promise<RawBatch>;
  /** Frees the server's side; never throws. */
  close(): Promise<void>;
}

/** A bulk write of one kind to one collection, its statements already serialised. */
export interface RawWrite {
  database: string;
  collection: string;
  kind: 'insert' | 'update' | 'delete';
  /** Insert: documents. Update: `{q, u, upsert?, multi?, collation?}`. Delete: `{q, limit, collation?}`. */
  statements: readonly Uint8Array[];
  ordered: boolean;
  /** From 6.0 on: the collection the caller means; the server refuses another one under the same name. */
  collectionUUID?: Uint8Array;
}

/** A retryable write's place in a fixed server session: sent again with the same number it takes effect once. */
export interface WriteTicket {
  /** 16 bytes of the session's UUID. */
  lsid: Uint8Array;
  txnNumber: bigint;
}

export interface WriteFailure {
  /** Position in `statements`. */
  index: number;
  code: number;
  message: string;
  keyPattern?: Document;
  keyValue?: Document;
}

export interface WriteOutcome {
  /** Documents inserted, matched or deleted. */
  n: number;
  nModified: number;
  upserted: number;
  failures: WriteFailure[];
  operationTime?: Timestamp;
}

/**
 * The one narrow door to a node or router: all traffic of the engine to a cluster goes through it,
 * so that faults can be injected and another transport put behind it.
 */
export interface NodeClient {
  /** For logs: cluster name and role, for example `cluster0 router`; never a connection string. */
  readonly label: string;
  /**
   * Runs one command. Numbers come back as driver classes only where a JavaScript number would lose them (Long).
   * @throws MongoServerError for `ok: 0`, and network errors as the driver reports them; nothing is retried here
   */
  command(database: string, command: Document, options: CallOptions): Promise<Document>;
  /** Opens a cursor by `find`, `aggregate` or another cursor command; the command's own `batchSize`/`cursor` fields count. */
  openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor>;
  /**
   * Writes with `writeConcern: majority` and `bypassDocumentValidation`.
   * Failures of single statements are returned; a write-concern error, `ok: 0` or a lost connection is thrown.
   */
  write(write: RawWrite, ticket: WriteTicket | null, options: CallOptions): Promise<WriteOutcome>;
  close(): Promise<void>;
}

/** How the engine reaches one cluster. */
export interface ClusterClient {
  /** `cluster0` or `cluster1`. */
  readonly name: string;
  readonly kind: 'sharded' | 'replicaSet';
  /** The release that all nodes behave as, for example [5, 0, 7]: see `readReleases`. */
  readonly version: Version;
  /** The release of the node that was asked, where it is a later one: an upgrade is under way, or its last step is missing. */
  readonly newerBinary?: Version;
  /** `config.version.clusterId` or the replica set's id, in hexadecimal. */
  readonly clusterId: string;
  /** `host:port` of the first seed, or the SRV name: for `directionMapping`. */
  readonly displayHost: string;
  /** The router, or the primary of a replica set. */
  readonly router: NodeClient;
  /**
   * How a source's data and changes are read: straight from each shard, or all through the router. A replica set has only the one way.
   */
  readonly access: 'direct' | 'router';
  /** Why it is not read straight from its shards, where that was tried. */
  readonly directRefusal?: string;
  /** Ids of the shards in the order of `listShards`; a replica set is one shard under its set name. */
  readonly shardIds: readonly string[];
  /** A door to the shard's primary. Only on clusters opened with direct access. */
  shard(id: string): NodeClient;
  /** The door that a share's data and changes are read through: its shard's with direct access, otherwise the router's. */
  taskClient(id: string): NodeClient;
  close(): Promise<void>;
}
