import type { Fleet } from '@convoy/api/fleet/fleet';
import type { CatalogEntry } from '../../catalog/namespace.js';
import type { NamespaceFilter } from '../../catalog/namespace-filter.js';
import type { NamespaceRemap } from '../../catalog/namespace-remap.js';
import type { ClusterClient } from '../../cluster/node-client.js';
import type { DdlChange } from '../../store/ddl-journal.js';
import type { Metadata } from '../../store/metadata.js';
import type { StreamPatience } from '../../store/stream-patience.js';
import type { TaskRecord, TaskRecords } from '../../store/task-record.js';
import type { FollowedEntry } from './followed-catalog.js';
import type { Runtime } from '../migration/runtime.js';
import type { TaskCollection } from './task-collections.js';

/** What a sync pipeline needs to start or to continue. */
export interface SyncPipelineDependencies {
  runtime: Runtime;
  source: ClusterClient;
  destination: ClusterClient;
  metadata: Metadata;
  records: TaskRecords;
  record: TaskRecord;
  /** The source shard that the task reads. */
  shardId: string;
  /** The task's collections after all done DDL changes, in the order of their copy. */
  collections: TaskCollection[];
  /** UUIDs of all collections that are or were in the catalog. */
  known: ReadonlySet<string>;
  /** Entries of the DDL journal that are not done yet: the task starts with their collections suspended. */
  undone: readonly DdlChange[];
  startTime: bigint;
  /** The destination already has the initial collections as they were at the start time. */
  beginsCopied: boolean;
  /** Bound of the bytes in this task's buffers. */
  bytesMax: number;
  /**
   * Above this number of pending re-reads, a range of them is copied again. The default is the re-read set's own bound.
   */
  rereadRequestsMax?: number;
  filter: NamespaceFilter;
  remap: NamespaceRemap;
  /** The task's part of a new collection on the source; null when it has none. */
  taskOf: (followed: FollowedEntry) => TaskCollection | null;
  /** Called immediately when a stage fails, while writes in flight still finish. */
  onFailure: (error: unknown) => void;
  /** Wakes the leader and the other tasks to read the task's record. */
  fleet: Fleet;
  /** Waits for the position of the task's stream. */
  patience: StreamPatience;
  /**
   * Replaces a partly copied capped collection on the destination with an empty one.
   * @param confirm rejects when another process owns the task
   */
  recreate: (entry: CatalogEntry, confirm: () => Promise<void>, signal: AbortSignal) => Promise<void>;
}
