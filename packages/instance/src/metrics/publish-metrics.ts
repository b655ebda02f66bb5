import { appliedBy } from '@convoy/api/contract/hot-documents';
import {
  type MigrationState,
  migrationStates,
  type Progress,
  type VerificationSideProgress,
} from '@convoy/api/contract/progress';
import type { Metrics } from './metrics.js';
import type { Observed } from '../lifecycle/progress/migration-observer.js';
import { hotDocumentsOf, type TaskStats } from '../lifecycle/task/task-stats.js';

/** Counters that only grow, as last published. */
export interface PublishedTotals {
  copiedBytes: number;
  copiedDocuments: number;
}

/** Sets the metrics to the present stats. Returns the totals to pass next time. */
export function publishMetrics(
  metrics: Metrics,
  state: MigrationState,
  stats: readonly TaskStats[],
  before: PublishedTotals,
): PublishedTotals {
  const sum = (of: (one: TaskStats) => number) => stats.reduce((total, one) => total + of(one), 0);
  const now = { copiedBytes: sum((one) => one.copiedBytes), copiedDocuments: sum((one) => one.copiedDocuments) };
  metrics.copiedBytes.inc(Math.max(0, now.copiedBytes - before.copiedBytes));
  metrics.copiedDocuments.inc(Math.max(0, now.copiedDocuments - before.copiedDocuments));
  metrics.readLag.set(stats.length === 0 ? NaN : Math.max(...stats.map((one) => one.readLag_seconds)));
  metrics.rereadSet.set(sum((one) => one.pendingRereads));
  metrics.bufferedBytes.set(sum((one) => one.bufferedBytes));
  metrics.bufferedEvents.set(sum((one) => one.bufferedEvents));
  const hot = hotDocumentsOf(stats) ?? [];
  for (const each of appliedBy)
    metrics.hotDocuments.set({ applied_by: each }, hot.filter((one) => one.appliedBy === each).length);
  for (const each of migrationStates) metrics.state.set({ state: each }, each === state ? 1 : 0);
  for (const each of ['waiting', 'starting', 'copying', 'done'] as const) {
    metrics.partitions.set(
      { state: each },
      sum((one) => one.partitions[each]),
    );
  }
  return now;
}

/** Sets the metrics to what was observed between the clusters. */
export function publishObserved(
  metrics: Metrics,
  { oplogRemaining_seconds, sourcePing_ms, destinationPing_ms }: Observed,
): void {
  metrics.oplogRemaining.set(oplogRemaining_seconds ?? NaN);
  metrics.pings.set({ cluster: 'source' }, sourcePing_ms === null ? NaN : sourcePing_ms / 1000);
  metrics.pings.set({ cluster: 'destination' }, destinationPing_ms === null ? NaN : destinationPing_ms / 1000);
}

/** What an instance publishes beside its progress. */
export interface InstanceStatus {
  hasFailed: boolean;
  leads: boolean;
  /** Null before the start. */
  leaderEpoch: number | null;
  /** Documents that differ with no change on its way, as the verifiers of this process count them. */
  mismatches: number;
  /** Messages without a valid signature by reason, since the start of this process. */
  refusedMessages: ReadonlyMap<string, number>;
}

/** Sets the metrics to the values of progress: one source for people, peers and Prometheus. */
export function publishProgress(metrics: Metrics, progress: Progress, status: InstanceStatus): void {
  metrics.failed.set(Number(status.hasFailed));
  metrics.isLeader.set(Number(status.leads));
  metrics.epoch.set(status.leaderEpoch ?? 0);
  metrics.mismatches.set(status.mismatches);
  metrics.canCommit.set(Number(progress.canCommit));
  metrics.canWrite.set(Number(progress.canWrite === true));
  metrics.overallLag.set(progress.lag?.overallLagSeconds ?? NaN);
  metrics.lag.set(progress.lag?.crudLagSeconds ?? NaN);
  metrics.ddlLag.set(progress.lag?.ddlLagSeconds ?? NaN);
  metrics.copySize.set(progress.collectionCopy?.estimatedTotalBytes ?? NaN);
  publishIndexes(metrics, progress.indexBuilding);
  metrics.refusedMessages.reset();
  for (const [reason, count] of status.refusedMessages) metrics.refusedMessages.inc({ reason }, count);
  // Removes the series of warnings that have ended.
  metrics.warnings.reset();
  for (const { name } of progress.warnings ?? []) metrics.warnings.inc({ name });
  publishVerification(metrics, progress.verification);
}

function publishIndexes(metrics: Metrics, building: Progress['indexBuilding']): void {
  const { indexesBuilt, totalIndexesToBuild } = building ?? { indexesBuilt: 0, totalIndexesToBuild: 0 };
  metrics.indexes.set({ state: 'built' }, indexesBuilt);
  metrics.indexes.set({ state: 'waiting' }, Math.max(0, totalIndexesToBuild - indexesBuilt));
}

/** Values that the verifier does not report have no series. */
function publishVerification(metrics: Metrics, verification: Progress['verification']): void {
  for (const gauge of [metrics.verifiedDocuments, metrics.verifiedCollections, metrics.verificationLag]) gauge.reset();
  for (const cluster of ['source', 'destination'] as const) {
    if (verification !== null) publishSide(metrics, cluster, verification[cluster]);
  }
}

function publishSide(metrics: Metrics, cluster: 'source' | 'destination', side: VerificationSideProgress): void {
  const set = (value: number | null, publish: (known: number) => void) => {
    if (value !== null) publish(value);
  };
  set(side.hashedDocumentCount, (count) => metrics.verifiedDocuments.set({ cluster, state: 'hashed' }, count));
  set(side.estimatedDocumentCount, (count) => metrics.verifiedDocuments.set({ cluster, state: 'estimated' }, count));
  set(side.scannedCollectionCount, (count) => metrics.verifiedCollections.set({ cluster, state: 'scanned' }, count));
  set(side.totalCollectionCount, (count) => metrics.verifiedCollections.set({ cluster, state: 'estimated' }, count));
  set(side.lagTimeSeconds, (seconds) => metrics.verificationLag.set({ cluster }, seconds));
}
