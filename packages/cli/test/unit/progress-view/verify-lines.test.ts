import { expect, test } from 'vitest';
import type { ComparisonProgress, EndedComparison } from '@convoy/instance/process/comparison';
import type { DescribedMismatch } from '@convoy/instance/verify/standalone/described-mismatch';
import { comparisonLine, mismatchLine, resultLines } from '../../../src/progress-view/verify-lines.js';
import { verifyReport } from '../../../src/progress-view/verify-report.js';

const cluster = {
  host: 'source.example:27017',
  kind: 'sharded',
  version: '5.0.7',
  clusterId: '0a',
  shards: 2,
} as const;
const totals = {
  sourceDocuments: 1_000,
  destinationDocuments: 999,
  bytes: 2_000_000,
  suspects: 0,
  mismatches: 1,
  agreed: 3,
};
const ended: EndedComparison = {
  verdict: 'different',
  totals,
  collections: 4,
  namespaces: 5,
  generations: 7,
  shardKeysCompared: true,
  started_ms: Date.UTC(2026, 0, 2, 3, 4, 5),
  ended_ms: Date.UTC(2026, 0, 2, 3, 5, 5),
  runs: 2,
  differences: [{ kind: 'index', namespace: 'shop.orders', detail: 'value_1 is missing' }],
  notCompared: [{ namespace: 'shop.weather', reason: 'no order' }],
  skippedIndexes: [{ namespace: 'shop.orders', index: 'u_1', description: 'not unique on the destination' }],
  source: cluster,
  destination: { ...cluster, kind: 'replicaSet', host: 'destination.example:27017' },
};
const mismatch: DescribedMismatch = {
  namespace: 'shop.orders',
  kind: 'different',
  _id: { $numberInt: '5' },
  paths: [
    { path: 'a', kind: 'changed', sourceType: 'int', destinationType: 'long' },
    { path: '', kind: 'order' },
  ],
  firstSeen: '2026-01-02T03:04:05.000Z',
  lastSeen: '2026-01-02T03:05:05.000Z',
  looks: 8,
  proven: true,
};

test('a mismatch is one line, with types and without values', () => {
  expect(mismatchLine(mismatch)).toBe(
    'shop.orders different {"$numberInt":"5"}: a (int, on the destination long), order of fields in the document',
  );
  expect(mismatchLine({ ...mismatch, paths: [], kind: 'missingOnDestination', proven: false })).toBe(
    'shop.orders missingOnDestination {"$numberInt":"5"} (kept changing)',
  );
});

test('progress shows the phase and the percentage', () => {
  const progress: ComparisonProgress = {
    phase: 'comparing',
    totals,
    generation: 0,
    collections: 4,
    estimatedDocuments: 4_000,
    estimatedBytes: 1,
    folder: '/tmp',
    resumed: false,
  };
  expect(comparisonLine(progress, 5_000_000)).toBe(
    'comparing · 1,000 of about 4,000 documents (25.0 %) · 5.00 MB/s · 0 to compare again · 1 proven different',
  );
  expect(comparisonLine({ ...progress, phase: 'checking again', generation: 2 }, 0)).toContain(
    'checking again, generation 2',
  );
});

test('a result names all problems and omissions, and counts hidden ones', () => {
  const lines = resultLines({ ...ended, totals: { ...totals, mismatches: 3 } }, [mismatch]);
  expect(lines[0]).toContain('DIFFERENT');
  expect(lines).toContain('shop.orders index: value_1 is missing');
  expect(lines).toContain('… and 2 more documents');
  expect(lines).toContain('shop.weather was not compared: no order');
  expect(lines).toContain('Skipped, as the migration chose: index u_1 of shop.orders (not unique on the destination)');
});

test('a report names scope, time, method and result', () => {
  const options = {
    rule: { settle_ms: 30_000, looksMin: 8 },
    generationsMax: 20,
    readers: 4,
    record_ms: 2_000,
    shardKeys: true,
  };
  const report = verifyReport(ended, {
    filter: { includeNamespaces: [], excludeNamespaces: [] },
    options,
    shown: [mismatch],
    mismatchFile: 'all.ndjson',
  });
  for (const text of [
    '**DIFFERENT',
    'sharded cluster of 2 shards at source.example:27017, MongoDB 5.0.7',
    'replica set at destination.example:27017',
    'From 2026-01-02T03:04:05.000Z to 2026-01-02T03:05:05.000Z, in 2 runs',
    'neither side changed for 30 s and 8 comparisons',
    '`shop.orders` index: value_1 is missing',
    '- shop.orders different {"$numberInt":"5"}',
    'All of them are in `all.ndjson`.',
    '`shop.weather`: no order',
    '- skipped by the migration: index u_1 of shop.orders',
  ])
    expect(report).toContain(text);
});
