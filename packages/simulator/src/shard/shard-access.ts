import type { Binary, Timestamp } from 'bson';
import type { Doc } from '../bson/value.js';

/** What a shard tells about one collection, for the router and the config server. */
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
}

/** Where a stream looks for changes. */
export type StreamScope =
  | { readonly kind: 'cluster' }
  | { readonly kind: 'database'; readonly db: string }
  | { readonly kind: 'collection'; readonly db: string; readonly collection: string };

/** Where a stream begins. */
export type StreamStart =
  /** Events at this time and later. */
  | { readonly kind: 'time'; readonly clusterTime: Timestamp }
  /** Events after this token (hex text of `_data`). `resumeAfter` refuses a token of an invalidate event. */
  | { readonly kind: 'token'; readonly token: string; readonly afterInvalidate: boolean };

export interface ShardStreamOptions {
  readonly scope: StreamScope;
  readonly start: StreamStart;
  readonly updateLookup: boolean;
  /** True for streams of a router: an insert's document key then holds the shard key too, in the event and in its token. */
  readonly wholeDocumentKeys: boolean;
  /** Stages behind `$changeStream`, as decoded documents. */
  readonly pipeline: readonly Doc[];
  /**
   * How `updateLookup` finds the present document of a document key, for a router which asks the owning shard.
   * Without it the shard looks in its own storage.
   */
  readonly lookup?: (namespace: string, documentKey: Doc) => Uint8Array | undefined;
}

/** One event of a stream, ready to be sent. */
export interface ShardStreamEvent {
  /** Hex text of `_id._data`; events of all shards are merged in its order (plain string comparison). */
  readonly token: string;
  readonly clusterTime: Timestamp;
  /** The event as BSON, after the stream's further stages. */
  readonly bytes: Uint8Array;
  /** True for the event that ends a database or collection stream. */
  readonly invalidates: boolean;
}

/** A change stream of one shard that a router merges with those of the others. */
export interface ShardStream {
  /**
   * Takes the next events in order, at most `events_max` of them and about `bytes_max` bytes (at least one event
   * if there is any). Throws CommandError 286 when the oplog no longer reaches back to the stream's position.
   */
  take(eventsMax: number, bytesMax: number): ShardStreamEvent[];
  /** Every event of this shard at or before this time has been taken. */
  readonly scannedTo: Timestamp;
  /** Resolves when the oplog grows, after `timeoutMs`, or when the signal aborts; never rejects. */
  waitForChange(timeoutMs: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

/**
 * What the rest of a simulated cluster may ask of a shard beside commands. Everything here is synchronous and takes
 * effect at once. Documents are raw BSON and must not be changed by the caller.
 */
export interface ShardAccess {
  readonly name: string;
  /** Time of the shard's last oplog entry: its `operationTime` and `lastCommittedOpTime`. */
  lastAppliedTime(): Timestamp;
  /** Appends a no-op to the oplog, so that the shard's time and its idle streams move on. */
  appendNoop(message: Doc): Timestamp;

  databaseNames(): string[];
  collection(namespace: string): CollectionFacts | undefined;
  collectionsOf(db: string): CollectionFacts[];
  /** Creates a collection with a UUID that another shard gave it, and indexes; does nothing when it exists. No change event (5.0). */
  ensureCollection(namespace: string, uuid: Binary, options: Doc, indexes: readonly Doc[]): void;
  /** Drops a collection without a change event, as a shard does that loses a collection it should not have. */
  forgetCollection(namespace: string): void;

  /**
   * Tells the shard how a collection is sharded, or `undefined` that it is not (any more). From then on document keys
   * of updates, replacements and deletes hold the shard key before `_id`.
   */
  setShardKey(namespace: string, key: Doc | undefined): void;

  /** Live documents of a collection that `wanted` accepts, in natural order. */
  documents(namespace: string, wanted: (document: Uint8Array) => boolean): Uint8Array[];
  /** Stores documents that a chunk migration brings; no change events (`fromMigrate`). Throws CommandError 11000 on a duplicate `_id`. */
  receiveMigrated(namespace: string, documents: readonly Uint8Array[]): void;
  /** Removes documents that a chunk migration took away; no change events. Reads at earlier times still see them. Returns how many. */
  removeMigrated(namespace: string, wanted: (document: Uint8Array) => boolean): number;

  /** Notes that a migration gives another shard its first chunk of the collection; streams on this shard alone show `kNewShardDetected`. */
  noteNewShard(namespace: string, to: string): void;

  /** Finds the live document with this `_id` (and the other fields of the key, if given). */
  findByKey(namespace: string, documentKey: Doc): Uint8Array | undefined;

  /** Opens a change stream for merging. Throws CommandError as `aggregate` does. */
  openStream(options: ShardStreamOptions): ShardStream;

  /** True while a fail point of this name is set by `configureFailPoint`. */
  failPointActive(name: string): boolean;
}
