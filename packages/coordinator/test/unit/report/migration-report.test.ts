import { describe, expect, it, test } from 'vitest';
import { type FleetProgress, idleFleetProgress } from '@convoy/api/contract/fleet-progress';
import type { History, TimelineEntry } from '@convoy/api/contract/history';
import { migrationReportSchema } from '@convoy/api/contract/migration-report';
import { reportPage } from '../../../src/report/report-page.js';
import { migrationReport, REPORT_ROWS_MAX, type ReportFacts } from '../../../src/report/report-routes.js';
import { stagedInstance } from '../dashboard/staged-message.js';

const none = { collections: 0, totalBytes: 0, copiedBytes: 0, copiedDocuments: 0 };
const partitions = { waiting: 0, starting: 0, copying: 0, done: 1 };

function row(namespace: string, bytes: number) {
  return { namespace, totalBytes: bytes, copiedBytes: bytes, copiedDocuments: 1, partitions, instances: 1 };
}

function entry(at_ms: number, state: TimelineEntry['state'], changes: Partial<TimelineEntry> = {}): TimelineEntry {
  return {
    at_ms,
    kind: 'state',
    level: 'info',
    text: `The fleet is ${state ?? ''}.`,
    ...(state && { state }),
    ...changes,
  };
}

function history(timeline: TimelineEntry[]): History {
  const point = { totalBytes: 900, copiedDocuments: 3, lagSeconds: 7 };
  const points = [
    { at_ms: 1_000, copiedBytes: 0, eventsApplied: 0, ...point },
    { at_ms: 61_000, copiedBytes: 600, eventsApplied: 1_200, ...point, lagSeconds: null },
  ];
  return { interval_ms: 60_000, points, timeline, entriesDropped: 0 };
}

const side = {
  estimatedDocumentCount: 10,
  hashedDocumentCount: 9,
  lagTimeSeconds: 0,
  phase: 'stream hashing' as const,
  scannedCollectionCount: 1,
  totalCollectionCount: 1,
};

function facts(progress: Partial<FleetProgress>, changes: Partial<ReportFacts> = {}): ReportFacts {
  return {
    now_ms: 121_000,
    failure: null,
    progress: { ...idleFleetProgress(), ...progress },
    instances: [stagedInstance('a'), stagedInstance('b')],
    history: history([entry(1_000, 'RUNNING')]),
    namespaces: { rows: [row('shop.small', 1), row('shop.large', 5)], unnamed: none },
    inventory: null,
    ...changes,
  };
}

describe('the report', () => {
  it('of a running migration counts from its first point to now', () => {
    const report = migrationReport(facts({ state: 'RUNNING', totalEventsApplied: 1_300 }));
    expect(report).toMatchObject({ startedAt_ms: 1_000, endedAt_ms: null, elapsed_seconds: 120 });
    expect(report).toMatchObject({ eventsApplied: 1_300, longestLag_seconds: 7, copied: { documents: 3 } });
    expect(report.collections.rows.map(({ namespace }) => namespace)).toEqual(['shop.large', 'shop.small']);
    expect(migrationReportSchema.parse(report)).toEqual(report);
  });

  it.each([
    ['a commit', [entry(1_000, 'RUNNING'), entry(31_000, 'COMMITTED')], 31_000],
    ['a failure', [entry(1_000, 'RUNNING'), entry(21_000, undefined, { kind: 'failure' })], 21_000],
    ['no commit that was reversed', [entry(31_000, 'COMMITTED'), entry(41_000, 'REVERSING')], null],
  ])('ends with %s', (_what, timeline, expected) => {
    expect(migrationReport(facts({}, { history: history(timeline) })).endedAt_ms).toBe(expected);
  });

  it('leaves unknown values out', () => {
    const report = migrationReport(facts({}, { history: null, instances: [] }));
    expect(report).toMatchObject({ startedAt_ms: null, elapsed_seconds: null, longestLag_seconds: null, releases: [] });
  });

  it('sums up the collections beyond its bound', () => {
    const rows = Array.from({ length: REPORT_ROWS_MAX + 2 }, (_, n) => row(`db.c${n}`, n));
    const { collections } = migrationReport(facts({}, { namespaces: { rows, unnamed: { ...none, collections: 5 } } }));
    expect(collections.rows).toHaveLength(REPORT_ROWS_MAX);
    expect(collections.others).toEqual({ collections: 7, totalBytes: 1, copiedBytes: 1, copiedDocuments: 2 });
  });
});

describe('the verdict', () => {
  const verification = { source: side, destination: side };
  const failure = { error: 'verificationFailed' as const, errorDescription: '2 documents differ.' };
  const mismatches = { instance: 'a', reason: 'mismatches' as const, value: 3, limit: null, description: '' };
  test.each([
    ['before a start', facts({}), 'notStarted', 'No migration is running.'],
    ['without a verifier', facts({ state: 'COMMITTED' }), 'notVerified', /without the embedded verifier/],
    [
      'before the first comparison',
      facts({ state: 'RUNNING', verification: { ...verification, source: { ...side, hashedDocumentCount: 0 } } }),
      'verifying',
      'The verifier has not compared a document yet.',
    ],
    [
      'while it compares',
      facts({ state: 'RUNNING', verification }),
      'verifying',
      '9 of 10 documents compared, no mismatch so far.',
    ],
    [
      'with differences',
      facts({ state: 'RUNNING', verification, commitBlockers: [mismatches] }),
      'differs',
      /^3 documents differ/,
    ],
    [
      'after the commit',
      facts({ state: 'COMMITTED', verification }),
      'verified',
      'Verified: 9 documents compared, 0 mismatches.',
    ],
    ['after a failed comparison', facts({ verification }, { failure }), 'differs', '2 documents differ.'],
    [
      'after another failure',
      facts({}, { failure: { ...failure, error: 'retriesExhausted' } }),
      'failed',
      /^retriesExhausted/,
    ],
  ] as const)('%s', (_when, given, kind, text) => {
    const { verdict } = migrationReport(given);
    expect(verdict.kind).toBe(kind);
    expect(verdict.text).toMatch(text);
  });
});

describe('the page of a report', () => {
  it('loads nothing, runs nothing, and shows names as text', () => {
    const evil = '<img src=x onerror=alert(1)>';
    const page = reportPage(
      migrationReport(
        facts(
          { state: 'COMMITTED', warnings: [{ name: 'aWarning', description: evil }] },
          { namespaces: { rows: [row(`shop.${evil}`, 5)], unnamed: none } },
        ),
      ),
    );
    expect(page).not.toContain(evil);
    expect(page).toContain('shop.&lt;img src=x onerror=alert(1)&gt;');
    expect(page).not.toMatch(/<script|<link|<img|url\(|https?:/);
  });

  it('lists what the clusters have besides data, with the outcome and in both directions', () => {
    const table = {
      rows: [
        {
          kind: 'users',
          name: 'clerk@shop',
          source: 'roles <desk>',
          destination: null,
          action: 'leftBehind',
          description: 'It stays behind.',
        },
      ],
      unlisted: 2,
    } as const;
    const inventory = {
      at_ms: 0,
      source: 'cluster0',
      destination: 'cluster1',
      carry: [],
      ...table,
      rows: [...table.rows],
    };
    const page = reportPage(migrationReport(facts({}, { inventory: { ...inventory, reverse: null } })));
    const row =
      '<tr><td>Users</td><td>clerk@shop</td><td>left behind</td><td>roles &lt;desk&gt;</td><td>–</td>' +
      '<td>It stays behind.</td></tr>';
    expect(page).toContain(row);
    expect(page).toContain('▲ 1 left behind, 2 without a row.');
    expect(page).toMatch(/<th>On cluster0<\/th><th>On cluster1<\/th>/);
    expect(page).not.toContain('In a reverse');
    const reverse = { rows: [], unlisted: 0 };
    const both = reportPage(migrationReport(facts({}, { inventory: { ...inventory, reverse } })));
    expect(both).toContain('In a reverse');
    expect(both).toMatch(/<th>On cluster1<\/th><th>On cluster0<\/th>/);
    expect(reportPage(migrationReport(facts({})))).not.toContain('Besides data');
  });

  it('has the times with which consumers of change streams go over', () => {
    const at = '2026-11-29T22:00:00Z';
    const handOver = { source: { t: 7, i: 1, at }, destination: { t: 9, i: 2, at } };
    const page = reportPage(migrationReport(facts({ state: 'COMMITTED', handOver })));
    expect(page).toContain(`<dt>The source is complete up to</dt><dd>Timestamp(7, 1), ${at}</dd>`);
    expect(page).toContain(`<dt>Begin on the destination at</dt><dd>Timestamp(9, 2), ${at}</dd>`);
  });

  it('draws rates, or says that there is too little to draw', () => {
    const page = reportPage(migrationReport(facts({ state: 'RUNNING' })));
    expect(page).toContain('Copied per second');
    expect(page.match(/not enough data/g)).toHaveLength(3);
    const longer = history([entry(1_000, 'RUNNING')]);
    longer.points.push(...longer.points.map((point) => ({ ...point, at_ms: point.at_ms + 120_000, copiedBytes: 900 })));
    expect(reportPage(migrationReport(facts({}, { history: longer })))).toMatch(/<path d="M[\d. L]+"/);
  });
});
