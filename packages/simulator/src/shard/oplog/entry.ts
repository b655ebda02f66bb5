import type { Binary, Long, Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';
import type { TimeKey } from '../storage/time-key.js';

/** The collection of an entry, under the name of then. */
export interface EntryNamespace {
  readonly db: string;
  readonly collection: string;
  readonly uuid: Binary;
  /** Paths of the shard key at that time. Undefined for an unsharded collection. */
  readonly shardKey: readonly string[] | undefined;
  /** True while changes store pre-images. */
  readonly preImages: boolean;
}

/** One document inserted. */
export interface InsertOperation {
  readonly kind: 'insert';
  readonly target: EntryNamespace;
  readonly document: Uint8Array;
}

/** One changed document. The changes are computed when a stream asks for them. */
export interface UpdateOperation {
  readonly kind: 'update';
  readonly target: EntryNamespace;
  readonly before: Uint8Array;
  readonly after: Uint8Array;
  /** Operators of the update. Undefined for a replacement and for a pipeline. */
  readonly operators: Doc | undefined;
  /** True when a replacement document replaced the whole document. */
  readonly replacement: boolean;
  /** The difference that the writer itself logs. Undefined where the server computes it. */
  readonly diff?: Doc | undefined;
  /** A write of measurements: the entry names their bucket by `_id`, without shard key (seen on 8.0.10). */
  readonly byId?: boolean | undefined;
}

export interface DeleteOperation {
  readonly kind: 'delete';
  readonly target: EntryNamespace;
  /** The document before its deletion. */
  readonly before: Uint8Array;
}

/** Statements on single documents. */
export type DocumentOperation = InsertOperation | UpdateOperation | DeleteOperation;

interface RenameOperation {
  readonly kind: 'rename';
  readonly target: EntryNamespace;
  readonly to: { readonly db: string; readonly collection: string };
  /** UUID of the collection that the rename drops. */
  readonly droppedTarget: Binary | undefined;
  /** True where another shard's event represents it. */
  readonly fromMigrate?: boolean;
}

interface DropOperation {
  readonly kind: 'drop';
  readonly target: EntryNamespace;
  /** True where another shard's event represents it. */
  readonly fromMigrate?: boolean;
}

interface DropDatabaseOperation {
  readonly kind: 'dropDatabase';
  readonly db: string;
}

/** DDL changes that only streams with expanded events show (manual, "Change Events": since 6.0). */
export type DdlEvent =
  | 'create'
  | 'createIndexes'
  | 'dropIndexes'
  | 'modify'
  | 'shardCollection'
  | 'refineCollectionShardKey'
  | 'reshardCollection';

export interface DdlOperation {
  readonly kind: 'definition';
  readonly event: DdlEvent;
  readonly target: EntryNamespace;
  /** The event's `operationDescription`. */
  readonly description: Doc;
  /** Of `modify`: the previous options. */
  readonly stateBeforeChange?: Doc;
  /** True when a chunk migration or a router caused it. Streams do not show it. */
  readonly fromMigrate?: boolean;
}

/** Anything that advances the oplog's time without an event: notes, no-ops, migrated documents. */
interface SilentOperation {
  readonly kind: 'silent';
  readonly note: Doc;
}

/** A migration gave a shard its first chunk of a collection. Only streams on this shard alone show it, before 6.0. */
export interface NewShardOperation {
  readonly kind: 'newShard';
  readonly target: EntryNamespace;
  readonly from: string;
  readonly to: string;
}

export type OplogOperation =
  | DocumentOperation
  | DdlOperation
  | NewShardOperation
  | RenameOperation
  | DropOperation
  | DropDatabaseOperation
  | SilentOperation;

/** Operations that a transaction may have. */
export type TransactionOperation = DocumentOperation | DdlOperation;

/** The transaction of an entry, as its events show it. */
export interface EntryTransaction {
  readonly lsid: Doc;
  readonly txnNumber: Long;
}

/** One of the several entries of a large or prepared transaction. */
export interface TransactionPart {
  /**
   * `applyOps` pieces: `partial` before the last one, `prepare` the last of a prepared transaction, `last` of any
   * other.
   */
  readonly kind: 'partial' | 'last' | 'prepare' | 'commit' | 'abort';
  /** The operations that this entry itself holds. */
  readonly written: readonly TransactionOperation[];
  /** Time of the transaction's entry before this one. */
  readonly previous: Timestamp | undefined;
  /** Number of operations of the whole transaction, in its last piece when there are several. */
  readonly count?: number;
  /** Of `commit`: when the transaction's writes became visible on all shards. */
  readonly commitTime?: Timestamp;
}

/** Everything at one cluster time: one operation, or all of a transaction. */
export interface OplogEntry {
  readonly time: TimeKey;
  readonly clusterTime: Timestamp;
  /** What streams show of it: the whole transaction at its last entry, nothing at its other entries. */
  readonly operations: readonly OplogOperation[];
  readonly transaction: EntryTransaction | undefined;
  /** Undefined for a transaction in one entry, and outside transactions. */
  readonly part: TransactionPart | undefined;
  readonly bytes: number;
  readonly wallMs: number;
}

/** Approximate bytes of an entry: its documents and a fixed part for its own fields. */
export function operationBytes(operation: OplogOperation): number {
  switch (operation.kind) {
    case 'insert':
      return insertBytes(operation.document);
    case 'update':
      return ENTRY_OVERHEAD_BYTES + operation.before.length + operation.after.length;
    case 'delete':
      return ENTRY_OVERHEAD_BYTES + operation.before.length;
    default:
      return ENTRY_OVERHEAD_BYTES;
  }
}

/** The same for the insert of a document. */
export function insertBytes(document: Uint8Array): number {
  return ENTRY_OVERHEAD_BYTES + document.length;
}

/** Approximate bytes of the fields around a document in the server's oplog entry. */
const ENTRY_OVERHEAD_BYTES = 150;
