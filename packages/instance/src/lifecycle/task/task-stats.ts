import { steadyLagMax_seconds } from '@convoy/api/contract/command-rules';
import { type HotDocument, hottest } from '@convoy/api/contract/hot-documents';
import type { StreamLateWrites } from '../../apply/events-ahead.js';
import type { HotDocument as HotTaskDocument } from '../../apply/write-batch.js';
import type { SourceWrites } from '../../apply/recent-writes.js';
import { retryingFor } from '../../async/retry.js';
import { restoredValue, storedValue } from '../../bson/sent-value.js';
import { secondsOf } from '../../cluster/cluster-time.js';
import { asUnavailable } from '../../cluster/connection-failure.js';
import type { InstanceConfig } from '../../config/instance-schema.js';
import { engineFailures } from '../../store/fenced-writer.js';
import { Metadata } from '../../store/metadata.js';
import type { Partition, PartitionState } from '../../store/partition.js';
import { type StoredHotDocument, TaskRecords } from '../../store/task-record.js';
import { idJson } from '../../verify/standalone/described-mismatch.js';
import { type ClusterName, connectConfigured } from '../migration/clusters.js';
import type { MigrationView } from '../../store/migration-view.js';

/** The stats of a sync task, for progress. */
export interface TaskStats {
  copiedBytes: number;
  copiedDocuments: number;
  copyDone: boolean;
  /** The collections that are not copied yet, also because they have taken the place of others. */
  copying?: readonly string[];
  eventsApplied: number;
  /** The stream has shown its position since this process follows it; the lag means nothing before. */
  followsStream: boolean;
  /** Cluster time between the source, or the time of a commit that runs, and what is durable on the destination. */
  lag_seconds: number;
  /** Cluster time between the source and what the stream reader has read. */
  readLag_seconds: number;
  pendingRereads: number;
  bufferedBytes: number;
  /** Events that wait until the partition of their document is copied. */
  bufferedEvents: number;
  partitions: Record<PartitionState, number>;
  /** The stream reader has read all changes below this cluster time. */
  readBelow: bigint;
  /** What the stream has shown above the commit time so far. */
  lateWrites: StreamLateWrites;
  /** Users' writes of the last seconds, as the stream shows them. */
  sourceWrites?: SourceWrites;
  hotDocuments?: readonly HotTaskDocument[];
}

/**
 * Whole seconds of cluster time between the source and what was reached.
 * @param commitTime of the commit that runs: nothing above it is applied, so that waiting for other steps is no lag
 */
export function lagBehind(sourceTime: bigint, reached: bigint, commitTime: bigint | null = null): number {
  const last = commitTime !== null && commitTime < sourceTime ? commitTime : sourceTime;
  return Math.max(0, secondsOf(last) - secondsOf(reached));
}

/** What a task has done by now, its earlier processes included. */
export type TaskTotals = Pick<TaskStats, 'copiedBytes' | 'copiedDocuments' | 'copyDone' | 'eventsApplied'>;

/** Live stats; the stored ones until the stages run. */
export function totalsOf(
  stats: readonly TaskStats[],
  { tasks }: MigrationView,
  ownIds: readonly string[],
): readonly TaskTotals[] {
  if (stats.length > 0) return stats;
  const own = ownIds.flatMap((id) => tasks.get(id) ?? []);
  return own.map(({ copied, copyDone, eventsApplied }) => ({
    copiedBytes: copied.bytes,
    copiedDocuments: copied.documents,
    copyDone,
    eventsApplied,
  }));
}

/** The stats of the copy alone. */
export type CopyStats = Pick<TaskStats, 'copiedBytes' | 'copiedDocuments' | 'bufferedEvents' | 'partitions'>;

/** Adds up the partitions of all collections. */
export function copyStats(tables: Iterable<{ readonly partitions: readonly Partition[] }>): CopyStats {
  const stats: CopyStats = {
    copiedBytes: 0,
    copiedDocuments: 0,
    bufferedEvents: 0,
    partitions: { waiting: 0, starting: 0, copying: 0, done: 0 },
  };
  for (const table of tables) for (const partition of table.partitions) addPartition(stats, partition);
  return stats;
}

function addPartition(stats: CopyStats, { bytes, documents, buffered, state }: Partition): void {
  stats.copiedBytes += bytes;
  stats.copiedDocuments += documents;
  stats.bufferedEvents += buffered.length;
  stats.partitions[state] += 1;
}

/** The hot documents of an instance's tasks without their `_id`s, which may be anything; null while no task runs. */
export function hotDocumentsOf(stats: readonly TaskStats[]): HotDocument[] | null {
  if (stats.length === 0) return null;
  return hottest(stats.map(({ hotDocuments = [] }) => hotDocuments)).map(
    ({ namespace, document, changesPerSecond, workerPercent, appliedBy }) => ({
      namespace,
      document,
      changesPerSecond,
      workerPercent,
      appliedBy,
    }),
  );
}

/** The hot documents of a task with their `_id`s, for its record. */
export function storedHotDocuments(hot: readonly HotTaskDocument[]): StoredHotDocument[] {
  return hot.map(({ id, ...reported }) => ({ ...reported, id: id === null ? null : storedValue(id) }));
}

/**
 * Limit that withdraws an offered commit. It is higher than the limit of the offer: otherwise a lag that swings around
 * that limit would change the offer every second.
 */
export const offeredLagMax_seconds = 2 * steadyLagMax_seconds;

/** A new partition waits while the stream reader is further behind the source than this. */
export const readBehindMax_seconds = 60;

/** An operator waits: a longer failure ends the command. */
const retry_ms = 30_000;

/** A hot document with its `_id` as extended JSON; null for a long one. */
export interface IdentifiedHotDocument extends HotDocument {
  _id: unknown;
}

/**
 * The hot documents of all tasks as of their last checkpoints, read from the metadata database.
 * @param destination the cluster that is migrated to
 * @throws ConvoyError `destinationUnavailable`, what else connecting throws
 */
export async function readHotDocuments(
  config: InstanceConfig,
  destination: ClusterName,
  signal: AbortSignal,
): Promise<IdentifiedHotDocument[]> {
  const cluster = await connectConfigured(config, destination, 'router', signal).catch((error: unknown) => {
    throw asUnavailable('destination', destination, error);
  });
  try {
    const metadata = new Metadata(cluster.router, retryingFor(retry_ms, engineFailures));
    const tasks = await new TaskRecords(metadata).readAll(signal);
    return hottest(
      tasks.map(({ hotDocuments = [] }) =>
        hotDocuments.map(({ namespace, document, changesPerSecond, workerPercent, appliedBy, id }) => ({
          namespace,
          document,
          changesPerSecond,
          workerPercent,
          appliedBy,
          _id: id === null ? null : idJson(restoredValue(id)),
        })),
      ),
    );
  } finally {
    await cluster.close();
  }
}
