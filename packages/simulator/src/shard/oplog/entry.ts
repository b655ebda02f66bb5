import type { Binary, Long, Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { TimeKey } from '../storage/time-key.js';

/** The collection an entry speaks of, under the name it had then. */
export interface EntryNamespace {
  readonly db: string;
  readonly collection: string;
  readonly uuid: Binary;
  /** Paths of the shard key at that time; undefined for an unsharded collection. */
  readonly shardKey: readonly string[] | undefined;
}

/** One document inserted. */
export interface InsertOperation {
  readonly kind: 'insert';
  readonly target: EntryNamespace;
  readonly document: Uint8Array;
}

/** One document changed. What changed is worked out when a stream asks for it. */
export interface UpdateOperation {
  readonly kind: 'update';
  readonly target: EntryNamespace;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** Operators of the update; undefined for a replacement and for a pipeline. */
  readonly operators: Doc | undefined;
  /** True when the whole document was replaced by a replacement document. */
  readonly replacement: boolean;
}

export interface DeleteOperation {
  readonly kind: 'delete';
  readonly target: EntryNamespace;
  /** The document as it was last. */
  readonly before: Uint8Array;
}

/** Statements on single documents. */
export type DocumentOperation = InsertOperation | UpdateOperation | DeleteOperation;

export interface RenameOperation {
  readonly kind: 'rename';
  readonly target: EntryNamespace;
  readonly to: { readonly db: string; readonly collection: string };
  /** UUID of the collection that the rename drops. */
  readonly droppedTarget: Binary | undefined;
}

export interface DropOperation {
  readonly kind: 'drop';
  readonly target: EntryNamespace;
}

export interface DropDatabaseOperation {
  readonly kind: 'dropDatabase';
  readonly db: string;
}

/** Anything that moves the oplog's time without an event: notes, no-ops, `create`, index builds, `collMod`, migrated documents. */
export interface SilentOperation {
  readonly kind: 'silent';
  readonly note: Doc;
}

/** A migration gave a shard its first chunk of a collection; only streams on this shard alone show it. */
export interface NewShardOperation {
  readonly kind: 'newShard';
  readonly target: EntryNamespace;
  readonly from: string;
  readonly to: string;
}

export type OplogOperation = DocumentOperation | NewShardOperation | RenameOperation | DropOperation | DropDatabaseOperation | SilentOperation;

/** The transaction that an entry belongs to, as its events show it. */
export interface EntryTransaction {
  readonly lsid: Doc;
  readonly txnNumber: Long;
}

/** Everything that happened at one cluster time: one operation, or all of a transaction. */
export interface OplogEntry {
  readonly time: TimeKey;
  readonly clusterTime: Timestamp;
  readonly operations: readonly OplogOperation[];
  readonly transaction: EntryTransaction | undefined;
  readonly bytes: number;
  readonly wallMs: number;
}

/** Rough bytes an entry holds: its documents and a fixed part for its own fields. */
export function operationBytes(operation: OplogOperation): number {
  switch (operation.kind) {
    case 'insert':
      return ENTRY_OVERHEAD_BYTES + operation.document.length;
    case 'update':
      return ENTRY_OVERHEAD_BYTES + operation.before.length + operation.after.length;
    case 'delete':
      return ENTRY_OVERHEAD_BYTES + operation.before.length;
    default:
      return ENTRY_OVERHEAD_BYTES;
  }
}

/** What the server spends on the fields around a document in an oplog entry, about. */
const ENTRY_OVERHEAD_BYTES = 150;
