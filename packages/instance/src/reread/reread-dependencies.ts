import type { Clock } from '../cluster/clock.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { ApplyWatermark } from '../store/apply-watermark.js';
import type { DocumentWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../cluster/retry.js';
import type { RereadEntry, RereadSet } from '../store/reread-set.js';
import type { RoutedStream } from '../store/routed-stream.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** A range that is copied again once the documents of its entries are gone from the destination. */
export interface GivenUpRange {
  collection: SyncedCollection;
  /** Some entries of the range in the set. */
  entries: readonly RereadEntry[];
  /** Called after some of them have left the set. @param dropped time of the latest event dropped for them */
  left: (dropped: bigint) => void;
}

export interface RereadDependencies {
  /** The source shard, or a router of the source. */
  shard: NodeClient;
  /** A router of the destination. */
  destination: NodeClient;
  /** A client that reads the source's documents on all shards. */
  source: NodeClient;
  writer: DocumentWriter;
  rereads: RereadSet;
  applyWatermark: ApplyWatermark;
  retrying: Retrying;
  clock: Clock;
  stream: Pick<RoutedStream, 'position' | 'untilRouted' | 'untilNamed'>;
  /** False while the entry's partition is not copied yet, or its collection is suspended for a DDL change. */
  mayRead(entry: RereadEntry): boolean;
  /**
   * Chooses a range to copy again when there are too many entries; null when there is none to give up.
   */
  givenUp(): Promise<GivenUpRange | null>;
  /** Passes the buffered events of an entry to its apply worker, before all later ones of its class. */
  release(entry: RereadEntry): void;
}
