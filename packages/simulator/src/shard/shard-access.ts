import type { Binary, Timestamp } from 'bson';
import type { Doc, Value } from '../bson/value.js';
import type { DonatedMove } from './donated-moves.js';
import type { View } from './storage/catalog.js';
import type { StatementResult } from './session/logical-session.js';
import type { DdlEvent } from './oplog/entry.js';

/** The writes of one statement of a retryable write. */
export interface SessionRecord {
  readonly lsid: Doc;
  readonly txnNumber: bigint;
  readonly statementId: number;
  readonly result: StatementResult;
}

/** What a shard reports of one collection to the router and the config server. */
export interface CollectionFacts {
  readonly namespace: string;
  /** UUID, subtype 4; the same on every shard for a sharded collection. */
  readonly uuid: Binary;
  /** Creation options as `listCollections` shows them, without `uuid`. */
  readonly options: Doc;
  /** Index descriptions as `listIndexes` shows them, `_id_` first. */
  readonly indexes: readonly Doc[];
  readonly documentCount: number;
  readonly documentBytes: number;
  /** Whether a field of an index has been an array. */
  isMultikey(index: string): boolean;
}

/** The scope of a stream. */
export type StreamScope =
  | { readonly kind: 'cluster' }
  | { readonly kind: 'database'; readonly db: string }
  | { readonly kind: 'collection'; readonly db: string; readonly collection: string };

/** The start of a stream. */
export type StreamStart =
  /** Events at this time and later. */
  | { readonly kind: 'time'; readonly clusterTime: Timestamp }
  /** Events after this token (hex text of `_data`). `resumeAfter` refuses a token of an invalidate event. */
  | { readonly kind: 'token'; readonly token: string; readonly afterInvalidate: boolean };

export type FullDocument = 'default' | 'updateLookup' | 'whenAvailable' | 'required';
export type FullDocumentBeforeChange = 'off' | 'whenAvailable' | 'required';

/** The options of a `$changeStream` stage. */
export interface StreamStage {
  readonly allChangesForCluster: boolean;
  readonly allowToRunOnConfigDB: boolean;
  /** Streams of single collections such as buckets; never through routers. */
  readonly allowToRunOnSystemNS: boolean;
  readonly fullDocument: FullDocument;
  readonly fullDocumentBeforeChange: FullDocumentBeforeChange;
  readonly showExpandedEvents: boolean;
  readonly showRawUpdateDescription: boolean;
  readonly showSystemEvents: boolean;
  /** Undefined: from now on. */
  readonly start: StreamStart | undefined;
}

export interface ShardStreamOptions {
  readonly scope: StreamScope;
  readonly start: StreamStart;
  readonly stage: StreamStage;
  /** True for streams that a router merges with those of other shards. */
  readonly merged: boolean;
  /** Stages after `$changeStream`, as decoded documents. */
  readonly pipeline: readonly Doc[];
  /**
   * How `updateLookup` finds the current document of a document key, for a router, which asks the owning shard. Without
   * it the shard searches its own storage.
   */
  readonly lookup?: (namespace: string, documentKey: Doc) => Uint8Array | undefined;
}

/** One event of a stream, ready to be sent. */
export interface ShardStreamEvent {
  /** Hex text of `_id._data`, by which events of all shards are merged (plain string comparison). */
  readonly token: string;
  readonly clusterTime: Timestamp;
  /** The event as BSON, after the stream's further stages. */
  readonly bytes: Uint8Array;
  /** True for the event that ends a database or collection stream. */
  readonly invalidates: boolean;
}

/** A change stream of one shard, for a router that merges it with those of the others. */
export interface ShardStream {
  /**
   * Takes the next events in order, at most `eventsMax` of them and about `bytesMax` bytes (at least one event if there
   * is any).
   * @throws CommandError 286 when the oplog does not reach back to the stream's start, 136 when it has overrun the open
   * stream
   */
  take(eventsMax: number, bytesMax: number): ShardStreamEvent[];
  /** Every event of this shard at or before this time has been taken. */
  readonly scannedTo: Timestamp;
  /** True once the event of the resume token was found, and without a resume token. */
  readonly tokenSeen: boolean;
  /**
   * Resolves when the oplog grows, after `timeoutMs`, or when the signal aborts. Never rejects.
   * @param signal the caller aborts it after its wait, which ends all waits with it
   */
  waitForChange(timeoutMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * What the rest of a simulated cluster may ask of a shard besides commands. Everything here is synchronous and takes
 * effect at once. Documents are raw BSON, which the caller must not change.
 */
export interface ShardAccess {
  readonly name: string;
  /** Time of the shard's last oplog entry: its `operationTime` and `lastCommittedOpTime`. */
  lastAppliedTime(): Timestamp;
  /** Appends a no-op to the oplog, so that the shard's time and its idle streams advance. */
  appendNoop(message: Doc): Timestamp;

  databaseNames(): string[];

  /** True from a database's first collection until it is dropped, also without any. */
  hasDatabase(db: string): boolean;
  collection(namespace: string): CollectionFacts | undefined;
  collectionsOf(db: string): CollectionFacts[];
  /** A view, or the one of a time-series collection. Undefined for other names. */
  view(
    namespace: string,
  ): { readonly viewOn: string; readonly pipeline: readonly Value[]; readonly options: Doc } | undefined;
  /**
   * Creates a collection with another shard's UUID, and indexes. Does nothing for an existing one.
   * @param shown whether streams that show creations show it; not for a sharded collection
   */
  ensureCollection(namespace: string, uuid: Binary, options: Doc, indexes: readonly Doc[], shown?: boolean): void;
  /** The views of a database, whose definitions lie in its `system.views`. */
  viewsOf(db: string): readonly View[];
  /** Replaces the views of a database by these, after a change of their definitions. */
  replaceViews(db: string, views: readonly View[]): void;
  /** Renames a collection without a change event, as resharding does at its end. Does nothing for a missing one. */
  renameSilently(from: string, to: string): void;
  /** Drops a collection that must leave a shard. @param shown whether it has a change event */
  forgetCollection(namespace: string, shown?: boolean): void;

  /**
   * Sets the sharding of a collection. Undefined for an unsharded one. From then on document keys of updates,
   * replacements and deletes hold the shard key before `_id`.
   */
  setShardKey(namespace: string, key: Doc | undefined): void;

  /**
   * Records that the shard coordinates a transaction with a commit decision.
   * @param transaction a command of it
   * @param participants how many commit; 0 when all have
   */
  coordinate(transaction: Doc, participants: number): void;

  /** Live documents of a collection that `wanted` accepts, in natural order. */
  documents(namespace: string, wanted: (document: Uint8Array) => boolean): Uint8Array[];
  /**
   * Stores documents of a chunk migration, without change events (`fromMigrate`).
   * @throws CommandError 11000 on a duplicate key, 112 when a running transaction holds one of the keys; some documents
   * may be stored then
   */
  receiveMigrated(namespace: string, documents: readonly Uint8Array[]): void;
  /** Shows that a chunk moves to another shard, until the returned function is called. */
  beginMove(move: DonatedMove): () => void;
  /** Waits while moves hang (fail point `moveChunkHangAtStep4`). */
  moveHeld(signal: AbortSignal): Promise<void>;
  /** Waits for running transactions that wrote to a collection. @throws CommandError 24 when they exceed the limit */
  transactionsDone(namespace: string, limitMs: number): Promise<void>;
  /** Number of cursors opened so far, which separates earlier from later ones. */
  cursorMark(): number;
  /** True while a cursor of the collection is open that is older than the mark. */
  hasCursorsBefore(namespace: string, mark: number): boolean;
  /**
   * The records of retryable writes to documents of a collection that `wanted` accepts, for the shard that receives
   * them.
   */
  sessionRecords(namespace: string, wanted: (document: Uint8Array) => boolean): SessionRecord[];
  /** Adds records of another shard. Numbers below the shard's own are skipped. */
  receiveSessionRecords(records: readonly SessionRecord[]): void;
  /**
   * Removes documents that a chunk migration moved away, without change events. Reads at earlier times still see them.
   * @returns their number
   */
  removeMigrated(namespace: string, wanted: (document: Uint8Array) => boolean): number;

  /**
   * Logs that a migration gives another shard its first chunk of the collection. Streams on this shard alone show
   * `kNewShardDetected`.
   */
  noteNewShard(namespace: string, to: string): void;
  /**
   * Logs a change of a collection's sharding, which streams with expanded events show.
   * @param description its `operationDescription`
   */
  noteDdl(namespace: string, event: DdlEvent, description: Doc): void;

  /** Finds the live document with this `_id` (and the other fields of the key, if given). */
  findByKey(namespace: string, documentKey: Doc): Uint8Array | undefined;

  /** Opens a change stream for merging. @throws CommandError as `aggregate` does */
  openStream(options: ShardStreamOptions): ShardStream;
}
