import type { Clock } from '../async/clock.js';
import type { NodeClient } from '../cluster/node-client.js';
import type { ApplyWatermark } from '../store/apply-watermark.js';
import type { DocumentWriter } from '../store/fenced-writer.js';
import type { Retrying } from '../async/retry.js';
import type { RereadEntry, RereadSet } from '../store/reread-set.js';
import type { RoutedStream } from '../store/routed-stream.js';
import type { SyncedCollection } from '../store/synced-collection.js';

/** A range that is copied again once the documents of its entries are gone from the destination. */
export interface GivenUpRange {
  collection: SyncedCollection;
  /** Some durable entries of the range in the set, with nothing in flight; none while all others wait for that. */
  entries: readonly RereadEntry[];
  /** Called after some of them have left the set. @param dropped time of the latest event dropped for them */
  left: (dropped: bigint) => void;
}

/** Chooses a range to copy again when there are too many entries. */
export interface RangeRelief {
  /** Null when there is none to give up. */
  next(): Promise<GivenUpRange | null>;
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
  stream: Pick<RoutedStream, 'position' | 'untilRouted' | 'untilNamed' | 'releaseReread'>;
  /** False while the entry's partition is not copied yet, or its collection is suspended for a DDL change. */
  mayRead(entry: RereadEntry): boolean;
  relief: RangeRelief;
}
