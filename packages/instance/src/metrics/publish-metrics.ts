import { appliedBy } from '@convoy/api/contract/hot-documents';
import {
  type MigrationState,
  migrationStates,
  type Progress,
  type VerificationSideProgress,
} from '@convoy/api/contract/progress';
import type { Observed } from '../lifecycle/instance/migration-observer.js';
import { hotDocumentsOf, type TaskStats } from '../lifecycle/task/task-stats.js';
import type { Metrics } from './metrics.js';

/** What an instance exports, as it is now. */
export interface ExportedState {
  state: MigrationState;
  progress: Progress;
  /** Of the own tasks. */
  stats: readonly TaskStats[];
  /** Null before the start. */
  observed: Pick<Observed, 'oplogRemaining_seconds' | 'sourcePing_ms' | 'destinationPing_ms'> | null;
  hasFailed: boolean;
  leads: boolean;
  /** Null before the start. */
  leaderEpoch: number | null;
  /** Documents that differ with no change on its way, as the verifiers of this process count them. */
  mismatches: number;
  /** Messages without a valid signature by reason, since the start of this process. */
  refusedMessages: ReadonlyMap<string, number>;
}

/**
 * The one place that sets the metrics of an instance: from progress, which people and peers see too, and from the stats
 * of its tasks. Only events are counted where they happen.
 */
export class MetricsPublisher {
  /** As last published: counters only grow. */
  #copied = { bytes: 0, documents: 0 };

  constructor(
    private readonly metrics: Metrics,
    bufferBytesMax: number,
  ) {
    metrics.bufferBytesMax.set(bufferBytesMax);
  }

  publish(exported: ExportedState): void {
    const { metrics } = this;
    metrics.failed.set(Number(exported.hasFailed));
    metrics.isLeader.set(Number(exported.leads));
    metrics.epoch.set(exported.leaderEpoch ?? 0);
    metrics.mismatches.set(exported.mismatches);
    metrics.refusedMessages.reset();
    for (const [reason, count] of exported.refusedMessages) metrics.refusedMessages.inc({ reason }, count);
    for (const each of migrationStates) metrics.state.set({ state: each }, each === exported.state ? 1 : 0);
    if (exported.observed !== null) publishObserved(metrics, exported.observed);
    publishProgress(metrics, exported.progress);
    this.#publishStats(exported.stats);
  }

  #publishStats(stats: readonly TaskStats[]): void {
    const { metrics } = this;
    const sum = (of: (one: TaskStats) => number) => stats.reduce((total, one) => total + of(one), 0);
    const copied = { bytes: sum((one) => one.copiedBytes), documents: sum((one) => one.copiedDocuments) };
    metrics.copiedBytes.inc(Math.max(0, copied.bytes - this.#copied.bytes));
    metrics.copiedDocuments.inc(Math.max(0, copied.documents - this.#copied.documents));
    this.#copied = copied;
    metrics.readLag.set(stats.length === 0 ? NaN : Math.max(...stats.map((one) => one.readLag_seconds)));
    metrics.rereadSet.set(sum((one) => one.pendingRereads));
    metrics.bufferedBytes.set(sum((one) => one.bufferedBytes));
    metrics.bufferedEvents.set(sum((one) => one.bufferedEvents));
    const hot = hotDocumentsOf(stats) ?? [];
    for (const each of appliedBy)
      metrics.hotDocuments.set({ applied_by: each }, hot.filter((one) => one.appliedBy === each).length);
    for (const state of ['waiting', 'starting', 'copying', 'done'] as const) {
      const count = sum((one) => one.partitions[state]);
      metrics.partitions.set({ state }, count);
    }
  }
}

function publishObserved(
  metrics: Metrics,
  { oplogRemaining_seconds, sourcePing_ms, destinationPing_ms }: NonNullable<ExportedState['observed']>,
): void {
  metrics.oplogRemaining.set(oplogRemaining_seconds ?? NaN);
  metrics.pings.set({ cluster: 'source' }, sourcePing_ms === null ? NaN : sourcePing_ms / 1000);
  metrics.pings.set({ cluster: 'destination' }, destinationPing_ms === null ? NaN : destinationPing_ms / 1000);
}

function publishProgress(metrics: Metrics, progress: Progress): void {
  metrics.canCommit.set(Number(progress.canCommit));
  metrics.canWrite.set(Number(progress.canWrite === true));
  metrics.overallLag.set(progress.lag?.overallLagSeconds ?? NaN);
  metrics.lag.set(progress.lag?.crudLagSeconds ?? NaN);
  metrics.ddlLag.set(progress.lag?.ddlLagSeconds ?? NaN);
  metrics.copySize.set(progress.collectionCopy?.estimatedTotalBytes ?? NaN);
  const { indexesBuilt, totalIndexesToBuild } = progress.indexBuilding ?? { indexesBuilt: 0, totalIndexesToBuild: 0 };
  metrics.indexes.set({ state: 'built' }, indexesBuilt);
  metrics.indexes.set({ state: 'waiting' }, Math.max(0, totalIndexesToBuild - indexesBuilt));
  // Removes the series of warnings that have ended.
  metrics.warnings.reset();
  for (const { name } of progress.warnings ?? []) metrics.warnings.inc({ name });
  publishVerification(metrics, progress.verification);
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
