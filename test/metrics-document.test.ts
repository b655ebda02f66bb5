import { describe, expect, test } from 'vitest';
import { idleProgress, migrationStates, type Progress } from '@convoy/api/contract/progress';
import { metricsReply } from '@convoy/api/http/metrics-reply';
import { aggregateProgress } from '@convoy/coordinator/progress/aggregate';
import { CoordinatorMetrics } from '@convoy/coordinator/server/fleet-metrics';
import { Metrics } from '@convoy/instance/metrics/metrics';
import { publishProgress } from '@convoy/instance/metrics/publish-progress';
import { NOW_MS, snapshot } from '../packages/coordinator/test/unit/progress/snapshots.js';
import { documentTable, plainText } from './document-table.js';
import { hasPromtool, promtool } from './promtool.js';
import { readText } from './source-tree.js';

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

async function instanceText(): Promise<string> {
  const metrics = new Metrics({ processMetrics: true });
  publishProgress(metrics, rich, { hasFailed: false, leads: true, leaderEpoch: 3 });
  for (const state of migrationStates) metrics.state.set({ state }, state === 'RUNNING' ? 1 : 0);
  metrics.rereads.inc({ reason: 'duplicateKey' });
  metrics.retries.inc({ what: 'read' });
  metrics.notifications.inc({ event: 'ready', result: 'sent' });
  metrics.commandDuration.observe({ command: 'start', result: 'accepted' }, 0.2);
  metrics.partitions.set({ state: 'done' }, 1);
  metrics.pings.set({ cluster: 'source' }, 0.001);
  return metrics.registry.metrics();
}

async function coordinatorText(): Promise<string> {
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

/** Convoy's own names, without those that a histogram adds. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/^# TYPE (convoy_\S+) /gm)].map(([, name = '']) => name).sort();
}

function documentedNames(heading: string): string[] {
  return documentTable('docs/metrics.md', heading)
    .rows.map(([name]) => plainText(name).replace(/\{.*\}$/, ''))
    .sort();
}

describe('docs/metrics.md', () => {
  test('names every metric of an instance once, and no other', async () => {
    expect(documentedNames('Instance')).toEqual(namesIn(await instanceText()));
  });

  test('names every metric of a coordinator once, and no other', async () => {
    expect(documentedNames('Coordinator')).toEqual(namesIn(await coordinatorText()));
  });

  test('names the board and the rules, which use documented metrics alone', () => {
    const documented = new Set([...documentedNames('Instance'), ...documentedNames('Coordinator')]);
    for (const file of ['docs/monitoring/grafana-board.json', 'docs/monitoring/alerts.yml']) {
      const used = [...readText(file).matchAll(/\bconvoy_[a-z_]+/g)].map(([name]) =>
        name.replace(/_(bucket|sum|count)$/, ''),
      );
      expect(used.length).toBeGreaterThan(5);
      expect(
        used.filter((name) => !documented.has(name)),
        file,
      ).toEqual([]);
    }
  });
});

describe('the text of /metrics', () => {
  test.skipIf(!hasPromtool)('is clean for promtool check metrics (promtool)', async () => {
    expect(promtool(['check', 'metrics'], await instanceText())).toBe('');
    expect(promtool(['check', 'metrics'], await coordinatorText())).toBe('');
  });

  test('is well-formed OpenMetrics for who asks for it', async () => {
    for (const text of [await instanceText(), await coordinatorText()]) {
      const lines = metricsReply('application/openmetrics-text', text).body.split('\n');
      expect(lines.slice(-2)).toEqual(['# EOF', '']);
      expect(lines.slice(0, -1).filter((line) => line === '')).toEqual([]);
      const counters = lines.flatMap((line) => /^# TYPE (\S+) counter$/.exec(line)?.[1] ?? []);
      expect(counters.filter((name) => name.endsWith('_total'))).toEqual([]);
      for (const name of counters)
        expect(
          lines.some((line) => line.startsWith(`${name}_total`)),
          name,
        ).toBe(true);
    }
  });
});

describe('docs/monitoring/alerts.yml', () => {
  test.skipIf(!hasPromtool)('is clean for promtool check rules, and its rules fire when they should (promtool)', () => {
    expect(promtool(['check', 'rules', 'docs/monitoring/alerts.yml'])).toBe('');
    expect(promtool(['test', 'rules', 'docs/monitoring/alerts.test.yml'])).toBe('');
  });
});
