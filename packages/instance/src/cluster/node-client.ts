import type { Document, Timestamp } from 'mongodb';

/** A server release, for example [5, 0, 7]. */
export type Version = readonly [number, number, number];

/** Options of every call through a client. */
export interface CallOptions {
  /** Aborts the call; the promise rejects with the signal's reason. */
  signal: AbortSignal;
  /** Server-side limit of the call in milliseconds (`maxTimeMS`). */
  maxTime_ms?: number;
  /**
   * How long the call may go without an answer beyond `maxTime_ms` before it fails with NoAnswerError: by default 20 s,
   * more for commands that were slow before. Infinity for one that its caller looks after.
   */
  answerMax_ms?: number;
  /** Cursors: reads from the primary, whatever the client's read preference is. */
  primary?: boolean;
  /** Cursors: maximum documents per batch; set at the opening, it applies to all later batches. */
  batchDocumentsMax?: number;
}

/** One reply of a cursor; its documents are the bytes from the wire. */
export interface RawBatch {
  documents: Uint8Array[];
  /** `_data` of the post-batch resume token; change streams only. */
  resumeToken?: string;
  /** Position after the batch of a scan that asks for it, once it has seen a record: `{$recordId}` and what else. */
  recordToken?: Document;
  /** The time of a snapshot read; absent if the collection did not exist at that time. */
  atClusterTime?: Timestamp;
  /**
   * The node's operation time when it answered. A router's is at least that of every shard with documents in the batch.
   */
  operationTime?: Timestamp;
  /** The latest operation time of the primary that the client knows: the answering member may be behind it. */
  primaryTime?: Timestamp;
  /** Bytes of all documents together. */
  bytes: number;
}

/** A server cursor that the caller owns: the client never resumes it. */
export interface RawCursor {
  /** The batch that came with the opening. */
  readonly first: RawBatch;
  /** False once the server reports the end. */
  readonly open: boolean;
  /**
   * Fetches the next batch. For awaiting cursors `maxTime_ms` is how long the server waits for data.
   * @throws the server's error, for example CursorNotFound (43) or QueryPlanKilled (175)
   */
  next(options: CallOptions): Promise<RawBatch>;
  /** Closes the cursor on the server; never throws. */
  close(): Promise<void>;
}

/** A bulk write of one kind to one collection, with serialised statements. */
export interface RawWrite {
  database: string;
  collection: string;
  kind: 'insert' | 'update' | 'delete';
  /** Insert: documents. Update: `{q, u, upsert?, multi?, collation?}`. Delete: `{q, limit, collation?}`. */
  statements: readonly Uint8Array[];
  ordered: boolean;
  /** From 6.0 on: the collection that the caller means; the server refuses another one under the same name. */
  collectionUUID?: Uint8Array;
}

/** A retryable write's number in a fixed server session: repeated with the same number, it takes effect once. */
export interface WriteTicket {
  /** 16 bytes of the session's UUID. */
  lsid: Uint8Array;
  txnNumber: bigint;
  /** The write begins a transaction of this number, of one document or several; the caller commits it. */
  beginsTransaction?: true;
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
 * The client of a node or router. All traffic of the engine to a cluster goes through it, so that tests can inject
 * faults and another transport can replace the driver.
 */
export interface NodeClient {
  /** For logs: cluster name and role, for example `cluster0 router`; never a connection string. */
  readonly label: string;
  /**
   * Runs one command. Numbers are driver classes only if a JavaScript number would lose precision (Long).
   * @throws MongoServerError for `ok: 0`, and network errors as the driver reports them; nothing is retried here
   */
  command(database: string, command: Document, options: CallOptions): Promise<Document>;
  /**
   * Opens a cursor by `find`, `aggregate` or another cursor command; the command's own `batchSize`/`cursor` fields
   * apply.
   */
  openCursor(database: string, command: Document, options: CallOptions): Promise<RawCursor>;
  /**
   * Writes with `writeConcern: majority` and `bypassDocumentValidation`. Returns failures of single statements; throws
   * write-concern errors, `ok: 0` and lost connections.
   */
  write(write: RawWrite, ticket: WriteTicket | null, options: CallOptions): Promise<WriteOutcome>;
  close(): Promise<void>;
}

/** The engine's client of one cluster. */
export interface ClusterClient {
  /** `cluster0` or `cluster1`. */
  readonly name: string;
  readonly kind: 'sharded' | 'replicaSet';
  /** The release whose behaviour all nodes have, for example [5, 0, 7]: see `readReleases`. */
  readonly version: Version;
  /** The binary release of the asked node, if it is later: an upgrade is running or incomplete. */
  readonly newerBinary?: Version;
  /** `config.version.clusterId` or the replica set's id, in hexadecimal. */
  readonly clusterId: string;
  /** `host:port` of the first seed, or the SRV name: for `directionMapping`. */
  readonly displayHost: string;
  /** The router, or the primary of a replica set. */
  readonly router: NodeClient;
  /**
   * How Convoy reads a source's data and changes: directly from each shard, or all through the router. A replica set
   * has only one way.
   */
  readonly access: 'direct' | 'router';
  /** Why Convoy does not read directly from the shards, if it tried. */
  readonly directRefusal?: string;
  /** Ids of the shards in the order of `listShards`; a replica set is one shard under its set name. */
  readonly shardIds: readonly string[];
  /** The client of the shard's primary. Only on clusters opened with direct access. */
  shard(id: string): NodeClient;
  /**
   * The client through which a sync task reads data and changes: its shard's with direct access, otherwise the
   * router's.
   */
  taskClient(id: string): NodeClient;
  close(): Promise<void>;
}

/** The full name of a collection or view on a cluster. */
export interface Namespace {
  readonly database: string;
  readonly name: string;
}
