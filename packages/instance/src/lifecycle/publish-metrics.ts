import { type MigrationState, migrationStates } from '@convoy/api/contract/progress';
import type { Metrics } from '../metrics/metrics.js';
import type { ShareFigures } from './share-sync.js';

/** Counters that only grow, as they were published last. */
export interface PublishedTotals {
  copiedBytes: number;
  copiedDocuments: number;
}

/** Brings the metrics to the present figures. Returns the totals to be given back next time. */
export function publishMetrics(metrics: Metrics, state: MigrationState, figures: readonly ShareFigures[], before: PublishedTotals): PublishedTotals {
  const sum = (of: (one: ShareFigures) => number): number => figures.reduce((total, one) => total + of(one), 0);
  const now = { copiedBytes: sum((one) => one.copiedBytes), copiedDocuments: sum((one) => one.copiedDocuments) };
  metrics.copiedBytes.inc(Math.max(0, now.copiedBytes - before.copiedBytes));
  metrics.copiedDocuments.inc(Math.max(0, now.copiedDocuments - before.copiedDocuments));
  metrics.lag.set(Math.max(0, ...figures.map((one) => one.lag_seconds)));
  metrics.repairSet.set(sum((one) => one.doubtfulKeys));
  metrics.bufferedBytes.set(sum((one) => one.bufferedBytes));
  for (const each of migrationStates) metrics.state.set({ state: each }, each === state ? 1 : 0);
  for (const each of ['waiting', 'starting', 'copying', 'done'] as const) {
    metrics.partitions.set({ state: each }, sum((one) => one.partitions[each]));
  }
  return now;
}
