import type { Timestamp } from 'bson';
import type { Doc } from '../../bson/value.js';

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
