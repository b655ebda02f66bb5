import { appliedBy } from '@convoy/api/contract/hot-documents';
import { type MigrationState, migrationStates } from '@convoy/api/contract/progress';
import type { Metrics } from '../../metrics/metrics.js';
import type { Observed } from './lag-observer.js';
import { hotDocumentsOf } from '../stats/hot-documents.js';
import type { TaskStats } from '../stats/task-stats.js';

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
