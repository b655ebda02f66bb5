import type { Doc } from '../bson/value.js';

/** The state of one client connection. */
export interface ConnectionState {
  readonly id: number;
  readonly remoteAddress: string;
  /** Names of databases and users that are logged in; empty without access control. */
  authenticated: { user: string; db: string }[];
  /** True for a user with the privilege `bypassWriteBlockingMode`, and for the nodes among themselves. */
  bypassesWriteBlocking?: boolean;
  /** False for a user without the privilege `bypassDefaultMaxTimeMS`; absent without access control. */
  bypassesDefaultMaxTime?: boolean;
}

/**
 * Set by the router on commands to a shard: which documents that shard owns. Absent when a client asks a shard
 * directly, which then returns orphans.
 */
export interface RoutedAccess {
  /** True when a document of this shard (raw bytes) lies in a chunk that the shard owns, so that it is no orphan. */
  owns(namespace: string, document: Uint8Array): boolean;
  /** True when a new or changed document belongs to this shard. */
  takes(namespace: string, document: Uint8Array): boolean;
  /** @throws CommandError 13388 or 249 when the router's view of the cluster is stale */
  refuseStale(): void;
}

/** One command as it came in: the body decoded, OP_MSG document sequences left as bytes. */
export interface CommandRequest {
  db: string;
  /** Name of the first field of the body. */
  name: string;
  body: Doc;
  /**
   * Document sequences by field name, each document as its own bytes. A command also accepts the same field as an array
   * in `body`.
   */
  sequences: ReadonlyMap<string, Uint8Array[]>;
  /** The place of a sequence that was an array in the body: its field and the number of fields before it. */
  listed?: { readonly field: string; readonly index: number };
  connection: ConnectionState;
  /** Aborted when the client disconnects or the node stops. */
  signal: AbortSignal;
  routed?: RoutedAccess;
}

/** Anything that answers commands: a shard, the config server, a router. */
export interface CommandNode {
  /**
   * Returns the reply document without `ok`, `$clusterTime`, `operationTime`: the connection layer adds these.
   * @throws CommandError for `ok: 0`
   */
  run(request: CommandRequest): Promise<Doc>;
}

/** A failed command as the server reports it. */
export class CommandError extends Error {
  constructor(
    readonly code: number,
    readonly codeName: string,
    message: string,
    readonly labels: readonly string[] = [],
    /** Further fields of the reply, besides ok, errmsg, code and codeName. */
    readonly extra: Doc = new Map(),
  ) {
    super(message);
    this.name = 'CommandError';
  }
}
