import type { StreamPatience } from '../../apply/change-stream-reader.js';
import type { CatalogEntry } from '../../catalog/namespace.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { DdlChange } from '../../store/ddl-journal.js';
import type { Metadata } from '../../store/metadata.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import type { FollowedEntry } from './followed-catalog.js';
import type { Runtime } from '../migration/runtime.js';
import type { TaskCollection } from './task-collections.js';

/** What a share's sync needs to begin or to go on. */
export interface SyncPipelineDependencies {
  runtime: Runtime;
  source: ClusterClient;
  destination: ClusterClient;
  metadata: Metadata;
  records: TaskRecords;
  record: TaskRecord;
  /** The source's shard that the share reads. */
  shardId: string;
  /** The share's collections as they are after all done definition changes, in the order in which they are to be copied. */
  collections: TaskCollection[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: ReadonlySet<string>;
  /** Entries of the definition journal that are not done yet: the share begins with their collections let go of. */
  undone: readonly DdlChange[];
  startTime: bigint;
  /** The destination has the collections that the migration began with as they were at the start time. */
  beginsCopied: boolean;
  /** Bytes that the buffers of this share may hold. */
  bytesMax: number;
  /** Beyond so many doubtful keys a range of them is copied anew; the repair set's own bound when left out. */
  rereadRequestsMax?: number;
  includes: (database: string, name: string) => boolean;
  /** The share's part in a collection that is new on the source; null when it has none. */
  taskOf: (followed: FollowedEntry) => TaskCollection | null;
  /** Told of a station's failure at once, while what others have in flight is still being finished. */
  onFailure: (error: unknown) => void;
  /** Tells the leader to look at the share's record. */
  wake: () => void;
  /** Who waits for how far the share's stream is. */
  patience: StreamPatience;
  /**
   * Makes an empty capped collection on the destination in place of one that was partly copied.
   * @param confirm rejects when another process works on the share
   */
  recreate: (entry: CatalogEntry, confirm: () => Promise<void>, signal: AbortSignal) => Promise<void>;
}
