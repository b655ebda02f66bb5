import type { ChangeEvent } from './change-event.js';
import type { PartitionTable } from './partition-table.js';
import type { RereadEntry } from './reread-set.js';
import type { SyncedCollection } from './synced-collection.js';

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
