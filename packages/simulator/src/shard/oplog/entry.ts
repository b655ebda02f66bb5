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
  /** True while changes keep the document as it was before them. */
  readonly preImages: boolean;
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

interface RenameOperation {
  readonly kind: 'rename';
  readonly target: EntryNamespace;
  readonly to: { readonly db: string; readonly collection: string };
  /** UUID of the collection that the rename drops. */
  readonly droppedTarget: Binary | undefined;
  /** True where another shard's event stands for it. */
  readonly fromMigrate?: boolean;
}

interface DropOperation {
  readonly kind: 'drop';
  readonly target: EntryNamespace;
  /** True where another shard's event stands for it. */
  readonly fromMigrate?: boolean;
}

interface DropDatabaseOperation {
  readonly kind: 'dropDatabase';
  readonly db: string;
}

/** Changes of definitions that only streams with expanded events show (manual, "Change Events": since 6.0). */
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
  /** Of `modify`: what it was before. */
  readonly stateBeforeChange?: Doc;
  /** True when a chunk migration or a router brought it about; streams do not show it. */
  readonly fromMigrate?: boolean;
}

/** Anything that moves the oplog's time without an event: notes, no-ops, migrated documents. */
interface SilentOperation {
  readonly kind: 'silent';
  readonly note: Doc;
}

/** A migration gave a shard its first chunk of a collection; only streams on this shard alone show it, before 6.0. */
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

/** What a transaction may do. */
export type TransactionOperation = DocumentOperation | DdlOperation;

/** The transaction that an entry belongs to, as its events show it. */
export interface EntryTransaction {
  readonly lsid: Doc;
  readonly txnNumber: Long;
}

/** One of several entries that a large or prepared transaction is written in. */
export interface TransactionPart {
  /** `applyOps` pieces: `partial` before the last one, `prepare` the last of a prepared transaction, `last` of any other. */
  readonly kind: 'partial' | 'last' | 'prepare' | 'commit' | 'abort';
  /** The operations that this entry itself holds. */
  readonly written: readonly TransactionOperation[];
  /** Time of the transaction's entry before this one. */
  readonly previous: Timestamp | undefined;
  /** Number of operations of the whole transaction, which its last piece tells when there are several. */
  readonly count?: number;
  /** Of `commit`: when the transaction's writes became visible on all shards. */
  readonly commitTime?: Timestamp;
}

/** Everything that happened at one cluster time: one operation, or all of a transaction. */
export interface OplogEntry {
  readonly time: TimeKey;
  readonly clusterTime: Timestamp;
  /** What streams show of it: the whole transaction at the entry that ends it, nothing at its other entries. */
  readonly operations: readonly OplogOperation[];
  readonly transaction: EntryTransaction | undefined;
  /** Undefined for a transaction in one entry, and outside transactions. */
  readonly part: TransactionPart | undefined;
  readonly bytes: number;
  readonly wallMs: number;
}

/** Rough bytes an entry holds: its documents and a fixed part for its own fields. */
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

/** What the server spends on the fields around a document in an oplog entry, about. */
const ENTRY_OVERHEAD_BYTES = 150;
