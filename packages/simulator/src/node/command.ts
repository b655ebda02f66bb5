import type { Doc } from '../bson/value.js';

/** What is remembered of one client connection. */
export interface ConnectionState {
  readonly id: number;
  readonly remoteAddress: string;
  /** Names of databases and users that are logged in; empty without access control. */
  authenticated: { user: string; db: string }[];
  /** True for a user with the privilege `bypassWriteBlockingMode`, and for the nodes among themselves. */
  bypassesWriteBlocking?: boolean;
}

/** Set by the router on commands it sends to a shard: which documents that shard owns. Absent when a client asks a shard directly, who then sees orphans. */
export interface RoutedAccess {
  /** True when a document of this shard (raw bytes) lies in a chunk that the shard owns, and is no orphan. */
  owns(namespace: string, document: Uint8Array): boolean;
  /** True when the shard is the one that a new or changed document belongs to. */
  takes(namespace: string, document: Uint8Array): boolean;
  /** Throws CommandError 13388 or 249 when the router has sent the command by a picture of the cluster that is not true any more. */
  refuseStale(): void;
}

/** One command as it came in: the body decoded, OP_MSG document sequences left as bytes. */
export interface CommandRequest {
  db: string;
  /** Name of the first field of the body. */
  name: string;
  body: Doc;
  /** Document sequences by field name, each document as its own bytes. A command also accepts the same field as an array in `body`. */
  sequences: ReadonlyMap<string, Uint8Array[]>;
  /** Where one of the sequences stood as an array in the body: its field and how many fields were before it. */
  listed?: { readonly field: string; readonly index: number };
  connection: ConnectionState;
  /** Aborted when the client has gone away or the node stops. */
  signal: AbortSignal;
  routed?: RoutedAccess;
  /** Called by a `getMore` once it has its cursor; throws what a fail point wants. */
  onCursorCheckout?: () => void;
}

/** Anything that answers commands: a shard, the config server, a router. */
export interface CommandNode {
  /**
   * Answers with the reply document without `ok`, `$clusterTime`, `operationTime`: the connection layer adds these.
   * Throws CommandError for `ok: 0`.
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
    /** Further fields of the reply, beside ok, errmsg, code and codeName. */
    readonly extra: Doc = new Map(),
  ) {
    super(message);
    this.name = 'CommandError';
  }
}
