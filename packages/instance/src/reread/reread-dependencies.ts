import type { Clock } from '../cluster/clock.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { ApplyWatermark } from '../store/apply-watermark.js';
import type { FencedWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../cluster/retry.js';
import type { RereadEntry, RereadSet } from '../store/reread-set.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** A range of doubtful keys that is to be copied anew, once their documents are gone from the destination. */
export interface GivenUpRange {
  collection: SyncedCollection;
  /** Some keys of it that are in the set. */
  entries: readonly RereadEntry[];
  /** Called when some of them have left the set. @param dropped the latest event of theirs that was dropped */
  left: (dropped: bigint) => void;
}

/** What the repair station asks of those around it. */
export interface RereadDependencies {
  /** The source shard that is read. */
  shard: NodeClient;
  /** Way to the destination's documents. */
  destination: NodeClient;
  /** Way to the source's documents on all shards. */
  source: NodeClient;
  writer: FencedWriter;
  rereads: RereadSet;
  applyWatermark: ApplyWatermark;
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
  mayRead(entry: RereadEntry): boolean;
  /**
   * When there are too many keys, a range of them that is copied anew instead.
   * @returns null when no range is given up
   */
  givenUp(): Promise<GivenUpRange | null>;
  /** Lets the held events of a repaired key go on, before all later ones of its class. */
  release(entry: RereadEntry): void;
}
