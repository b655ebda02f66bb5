import type { Progress, VerificationSideProgress } from '@convoy/api/contract/progress';
import type { Metrics } from './metrics.js';

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
