import { Buffer } from 'node:buffer';
import { RawValue } from '../bson/scan.js';
import type { PartitionTable } from './partition-table.js';
import type { RereadEntry } from './reread-set.js';
import type { SyncedCollection } from './synced-collection.js';

export type DataOperation = 'insert' | 'update' | 'replace' | 'delete';

/** One change of one document, as the change stream reports it. The parts are views into the event's bytes. */
export interface ChangeEvent {
  operation: DataOperation;
  /** Cluster time, seconds × 2^32 + increment. */
  time: bigint;
  /** Collection UUID, 32 hexadecimal digits. */
  uuid: string;
  id: RawValue;
  /** Full document key; only `_id` for inserts on a shard. */
  documentKey: Uint8Array;
  /** Null except for inserts and replacements, and null there too when the event is too large. */
  fullDocument: Uint8Array | null;
  /** As the event has it: `rawUpdateDescription` or `updateDescription`. Null except for updates. */
  updateDescription: Uint8Array | null;
  /** True when the change was part of a transaction. */
  inTransaction: boolean;
  /** What the event counts in buffers. */
  bytes: number;
}

/**
 * The same event with a copy of its bytes, for buffers. The views of the original keep its whole reply in memory, which
 * may be 16 MB.
 */
export function ownedEvent(event: ChangeEvent): ChangeEvent {
  const { id, documentKey, fullDocument, updateDescription } = event;
  const parts = [id.bytes, documentKey, fullDocument, updateDescription];
  // A slice of the common pool would keep the whole pool in memory.
  const bytes = Buffer.allocUnsafeSlow(parts.reduce((length, part) => length + (part?.length ?? 0), 0));
  let at = 0;
  const placed = (part: Uint8Array): Uint8Array => {
    bytes.set(part, at);
    at += part.length;
    return bytes.subarray(at - part.length, at);
  };
  return {
    ...event,
    id: new RawValue(id.type, placed(id.bytes)),
    documentKey: placed(documentKey),
    fullDocument: fullDocument === null ? null : placed(fullDocument),
    updateDescription: updateDescription === null ? null : placed(updateDescription),
  };
}

/**
 * The change stream of a sync task, as far as it is routed. Copies and re-reads wait for it, and give the events back
 * that were buffered for them.
 */
export interface RoutedStream {
  /** The largest time up to which every event is routed. */
  readonly position: bigint;
  /** Resolves once the stream is not far behind the source: a partition may start. */
  untilNear(signal: AbortSignal): Promise<void>;
  /** Resolves once the stream is routed up to `time`. */
  untilRouted(time: bigint, signal: AbortSignal): Promise<void>;
  /** Resolves once the stream is routed up to `time` (true), or the event budget is full and reading stops (false). */
  untilRoutedOrFull(time: bigint, signal: AbortSignal): Promise<boolean>;
  /**
   * Resolves once all reads by name so far are known to have reached this collection.
   * @throws CollectionAbsentError when one may have reached another collection; the signal's reason when a DDL change
   * suspends the collection
   */
  untilNamed(collection: SyncedCollection, signal: AbortSignal): Promise<void>;
  /** Resolves once every event up to `time` that is routed to an apply worker is durable. */
  untilFlushed(time: bigint, signal: AbortSignal): Promise<void>;
  /** Routes the buffered events of a partition again. */
  release(table: PartitionTable, events: readonly ChangeEvent[]): void;
  /** Passes the buffered events of a re-read to their apply worker, before all later ones of their class. */
  releaseReread(entry: RereadEntry): void;
}

/** How urgently the tokens of a stream without events are needed. */
export interface StreamPatience {
  /** A commit waits for them. */
  isAwaited(): boolean;
  /** All tasks have been idle for some time. */
  isIdle(): boolean;
}
