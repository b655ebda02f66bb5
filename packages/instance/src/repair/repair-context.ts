import type { Clock } from '../cluster/clock.js';
import type { Door } from '../cluster/door.js';
import type { Begun } from '../store/begun.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../cluster/retry.js';
import type { RepairEntry, RepairSet } from '../store/repair-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** A range of doubtful keys that is to be copied anew, once their documents are gone from the destination. */
export interface GivenUpRange {
  collection: SyncedCollection;
  /** Some keys of it that are in the set. */
  entries: readonly RepairEntry[];
  /** Called when some of them have left the set. @param dropped the latest event of theirs that was dropped */
  left: (dropped: bigint) => void;
}

/** What the repair station asks of those around it. */
export interface RepairContext {
  /** The source shard that is read. */
  shard: Door;
  /** Way to the destination's documents. */
  destination: Door;
  /** Way to the source's documents on all shards. */
  source: Door;
  writer: FencedWriter;
  repairs: RepairSet;
  begun: Begun;
  retrying: Retrying;
  clock: Clock;
  /** The largest time up to which every event of the shard's stream has been routed. */
  position(): bigint;
  /** Resolves once the stream has been routed up to `time`. */
  untilRouted(time: bigint, signal: AbortSignal): Promise<void>;
  /**
   * Resolves once an answer about a collection that is read by its name is known to have been about that collection.
   * @throws CollectionAbsentError when it may not have been
   */
  untilNamed(collection: SyncedCollection, signal: AbortSignal): Promise<void>;
  /** False while the key's partition is not copied yet, or a definition change of its collection is undone. */
  mayRead(entry: RepairEntry): boolean;
  /**
   * When there are too many keys, a range of them that is copied anew instead.
   * @returns null when no range is given up
   */
  givenUp(): Promise<GivenUpRange | null>;
  /** Lets the held events of a repaired key go on, before all later ones of its class. */
  release(entry: RepairEntry): void;
}
