import type { StreamPatience } from '../../apply/stream.js';
import type { CatalogEntry } from '../../catalog/namespace.js';
import type { Cluster } from '../../cluster/door.js';
import type { Definition } from '../../store/definition-journal.js';
import type { Metadata } from '../../store/metadata.js';
import type { ShareRecord, ShareRecords } from '../../store/share-record.js';
import type { FollowedEntry } from './followed-catalog.js';
import type { Runtime } from '../migration/runtime.js';
import type { ShareCollection } from './share-collections.js';

/** What a share's sync needs to begin or to go on. */
export interface ShareSyncInput {
  runtime: Runtime;
  source: Cluster;
  destination: Cluster;
  metadata: Metadata;
  records: ShareRecords;
  record: ShareRecord;
  /** The source's shard that the share reads. */
  shardId: string;
  /** The share's collections as they are after all done definition changes, in the order in which they are to be copied. */
  collections: ShareCollection[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: ReadonlySet<string>;
  /** Entries of the definition journal that are not done yet: the share begins with their collections let go of. */
  undone: readonly Definition[];
  startTime: bigint;
  /** The destination has the collections that the migration began with as they were at the start time. */
  beginsCopied: boolean;
  /** Bytes that the buffers of this share may hold. */
  bytesMax: number;
  /** Beyond so many doubtful keys a range of them is copied anew; the repair set's own bound when left out. */
  doubtfulKeysMax?: number;
  includes: (database: string, name: string) => boolean;
  /** The share's part in a collection that is new on the source; null when it has none. */
  shareOf: (followed: FollowedEntry) => ShareCollection | null;
  /** Told of a station's failure at once, while what others have in flight is still being finished. */
  onFailure: (error: unknown) => void;
  /** Tells the leader to look at the share's record. */
  nudge: () => void;
  /** Who waits for how far the share's stream is. */
  patience: StreamPatience;
  /**
   * Makes an empty capped collection on the destination in place of one that was partly copied.
   * @param confirm rejects when another process works on the share
   */
  recreate: (entry: CatalogEntry, confirm: () => Promise<void>, signal: AbortSignal) => Promise<void>;
}
