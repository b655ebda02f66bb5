import { idleProgress, type Progress } from '@convoy/api/contract/progress';
import { aggregateProgress } from '@convoy/coordinator/director/aggregate';
import { CoordinatorMetrics } from '@convoy/coordinator/server/fleet-metrics';
import { Metrics } from '@convoy/instance/metrics/metrics';
import { MetricsPublisher } from '@convoy/instance/metrics/publish-metrics';
import { NOW_MS, snapshot } from '../../packages/coordinator/test/unit/director/snapshots.js';

const side = {
  estimatedDocumentCount: 10,
  hashedDocumentCount: 4,
  lagTimeSeconds: 1,
  phase: 'initial hashing',
  scannedCollectionCount: 1,
  totalCollectionCount: 2,
} as const;

/** With every value that there can be. */
const rich: Progress = {
  ...idleProgress(),
  state: 'RUNNING',
  canCommit: true,
  canWrite: false,
  lagTimeSeconds: 2,
  totalEventsApplied: 5,
  collectionCopy: { estimatedTotalBytes: 10, estimatedCopiedBytes: 5 },
  coordinatorID: 'sync-a',
  syncID: 'sync-a',
  verification: { source: side, destination: side },
  lag: { overallLagSeconds: 3, crudLagSeconds: 2, ddlLagSeconds: 3 },
  indexBuilding: { indexesBuilt: 1, totalIndexesToBuild: 4, collectionsFinished: 0, collectionsTotal: 2 },
  warnings: [{ name: 'retrying', description: 'It fails.' }],
};

/** What an instance exports. */
export async function instanceText(): Promise<string> {
  const metrics = new Metrics({ processMetrics: true });
  new MetricsPublisher(metrics, 1_000).publish({
    state: 'RUNNING',
    progress: rich,
    stats: [],
    observed: { oplogRemaining_seconds: 3_600, sourcePing_ms: 1, destinationPing_ms: 1 },
    hasFailed: false,
    leads: true,
    leaderEpoch: 3,
    mismatches: 2,
    refusedMessages: new Map([['unsigned', 1]]),
  });
  metrics.rereads.inc({ reason: 'duplicateKey' });
  metrics.retries.inc({ what: 'read' });
  metrics.notifications.inc({ event: 'ready', result: 'sent' });
  metrics.commandDuration.observe({ command: 'start', result: 'accepted' }, 0.2);
  return metrics.registry.metrics();
}

/** What a coordinator exports. */
export async function coordinatorText(): Promise<string> {
  const metrics = new CoordinatorMetrics();
  await metrics.timed('start', () => Promise.resolve());
  metrics.notifications.inc({ event: 'ready', result: 'sent' });
  return metrics.scrape(
    aggregateProgress(snapshot({ a: { progress: rich }, b: { progress: { lagTimeSeconds: 2 } } }), {
      seconds: 9,
      bytesPerSecond: 1,
      at_ms: NOW_MS,
      since_ms: NOW_MS,
      advancedAt_ms: NOW_MS,
    }),
  );
}

/**
 * The metrics in a text of Prometheus' format with the labels of their samples, without those that a histogram adds.
 */
export function metricsIn(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]));
  const labels = new Map([...types.keys()].map((name) => [name, new Set<string>()]));
  for (const [, sample = '', list = ''] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? \S+$/gm)) {
    const name = types.has(sample) ? sample : sample.replace(/_(bucket|sum|count)$/, '');
    for (const [, label = ''] of list.matchAll(/(\w+)="/g)) if (label !== 'le') labels.get(name)?.add(label);
  }
  return labels;
}
