import { describe, expect, test } from 'vitest';
import { nextStepAfterFailure } from '@convoy/api/contract/next-step';
import type { CommandView } from '../../../src/dashboard/message.js';
import { mismatchText } from '../../../src/dashboard/mismatches-card.js';
import { shownText } from '../../../src/dashboard/namespaces-card.js';
import {
  axisLabels,
  axisTime,
  levelSeries,
  rateSeries,
  seriesText,
} from '../../../src/dashboard/views/chart-series.js';
import { answerViews, cutOverView, reverseRefusal } from '../../../src/dashboard/views/cut-over-view.js';
import { fleetRows } from '../../../src/dashboard/views/fleet-rows.js';
import { byteRateText, bytesText, durationText, percentText } from '../../../src/dashboard/views/quantity.js';
import { verifierView, warningViews } from '../../../src/dashboard/views/small-views.js';
import { stateView } from '../../../src/dashboard/views/state-view.js';
import { stagedInstance, stagedMessage } from './staged-message.js';

describe('quantities', () => {
  test.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1.00 kB'],
    [999_499, '999 kB'],
    [999_500, '1.00 MB'],
    [1.5e12, '1.50 TB'],
    [null, '–'],
  ])('%s bytes', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });

  test.each([
    [45, '45 s'],
    [720, '12 min'],
    [11_100, '3 h 05 min'],
    [187_200, '2 d 4 h'],
    [null, '–'],
  ])('%s seconds', (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });

  test('shows 100 % only for the whole', () => {
    expect([percentText(99.99), percentText(100), percentText(null)]).toEqual(['99.9 %', '100.0 %', '–']);
    expect(byteRateText(2_500_000)).toBe('2.50 MB/s');
  });
});

describe('state', () => {
  test('a copy shows its percentage and remaining time', () => {
    expect(stateView(stagedMessage())).toMatchObject({
      state: 'RUNNING',
      number: '25.0 %',
      remaining: 'about 10 min remaining',
      percent: 25,
      failure: null,
    });
    expect(stateView(stagedMessage({ secondsRemaining: null })).remaining).toBe('time remaining unknown');
  });

  test.each([
    [{ state: 'IDLE' as const, info: null, percent: null }, 'IDLE', ['next', 'next', 'next', 'next', 'next', 'next']],
    [{ info: 'initializing', percent: null }, 'RUNNING', ['now', 'next', 'next', 'next', 'next', 'next']],
    [{}, 'RUNNING', ['done', 'now', 'next', 'next', 'next', 'next']],
    [{ info: 'change event application', percent: 100 }, 'RUNNING', ['done', 'done', 'now', 'next', 'next', 'next']],
    [
      { info: 'change event application', percent: 100, canCommit: true },
      'RUNNING',
      ['done', 'done', 'done', 'now', 'next', 'next'],
    ],
    [{ state: 'COMMITTING' as const, percent: 100 }, 'COMMITTING', ['done', 'done', 'done', 'done', 'now', 'next']],
    [
      { state: 'COMMITTED' as const, percent: 100, canWrite: true },
      'COMMITTED',
      ['done', 'done', 'done', 'done', 'done', 'done'],
    ],
  ])('steps at %j', (progress, state, steps) => {
    const view = stateView(stagedMessage(progress));
    expect(view.state).toBe(state);
    expect(view.steps.map(({ status }) => status)).toEqual(steps);
  });

  test('a committing fleet is not shown as ready to commit', () => {
    expect(stateView(stagedMessage({ percent: 100, canCommit: true })).remaining).toBe('ready to commit');
    expect(stateView(stagedMessage({ state: 'COMMITTING', percent: 100, canCommit: true })).remaining).toBe(
      'committing',
    );
  });

  test('a reverse shows no copy stats', () => {
    const view = stateView(
      stagedMessage({
        state: 'REVERSING',
        info: 'reversing',
        percent: 100,
        collectionCopy: { estimatedTotalBytes: 1, estimatedCopiedBytes: 1 },
      }),
    );
    expect(view).toMatchObject({ state: 'REVERSING', number: '–', percent: null });
    expect(view.stats.filter(({ label }) => ['Copied', 'Documents'].includes(label)).map(({ value }) => value)).toEqual(
      ['–', '–'],
    );
  });

  test('a failure is named and marks its step', () => {
    const view = stateView(
      stagedMessage({}, { failure: { error: 'oplogHistoryLost', errorDescription: 'It is gone.' } }),
    );
    expect(view).toMatchObject({ state: 'FAILED', tone: 'bad', failure: { name: 'oplogHistoryLost' } });
    expect(view.steps[1]?.status).toBe('failed');
  });
});

describe('fleet', () => {
  test('rows show rates, lag and the leader', () => {
    const { rows, destinationShards } = fleetRows(stagedMessage());
    expect(rows[0]).toMatchObject({
      id: 'a',
      leads: true,
      copyFlow: '2.00 kB/s copied',
      applyFlow: '5 changes/s',
      lag: '4 s',
      trouble: '',
      tone: 'active',
      partitions: '3 of 6 done, 1 active',
    });
    expect(rows[1]?.leads).toBe(false);
    expect(destinationShards).toEqual(['d0', 'd1']);
  });

  test("rows show their instance's problems", () => {
    const instances = {
      a: stagedInstance('a', { problems: ['silent'], reachable: false, secondsSinceHeartbeat: 12 }),
      b: stagedInstance('b', { lagTimeSeconds: 80 }),
      c: stagedInstance('c', { error: 'uniqueKeyViolation' }),
    };
    const { rows } = fleetRows(stagedMessage({}, { instances }));
    expect(rows.map(({ trouble, tone }) => [trouble, tone])).toEqual([
      ['no heartbeat for 12 s', 'warning'],
      ['80 s behind', 'warning'],
      ['uniqueKeyViolation', 'bad'],
    ]);
  });
});

describe('cut-over', () => {
  const ready = { info: 'change event application', percent: 100, canCommit: true };
  const instances = { a: stagedInstance('a', { canCommit: true }), b: stagedInstance('b', { canCommit: true }) };
  /** The primary command and the others that are possible. */
  const offered = (...of: Parameters<typeof cutOverView>): (string | undefined)[] => {
    const { primary, secondary } = cutOverView(...of);
    return [primary?.name, ...secondary.map(({ name }) => name)];
  };

  test.each([
    [{ state: 'INITIALIZING' as const }, [undefined], 'connected to both clusters'],
    [{ state: 'IDLE' as const }, ['start'], 'Start the migration.'],
    [{}, [undefined, 'pause'], 'once every point is met'],
    [ready, ['commit', 'pause'], 'then commit'],
    [{ state: 'PAUSED' as const }, ['resume'], 'before the oplog of the source wraps'],
    [{ state: 'COMMITTING' as const, canCommit: true }, [undefined], 'Wait'],
    [{ state: 'COMMITTED' as const }, [undefined, 'reverse'], 'Point your applications to the destination'],
    [{ state: 'REVERSING' as const }, [undefined], 'Wait'],
  ])('%j offers only what is possible, with one primary command', (progress, names, advice) => {
    const message = stagedMessage(progress, { instances });
    expect(offered(message, true, true)).toEqual(names);
    expect(cutOverView(message, true, true).advice).toContain(advice);
  });

  test('a ready fleet has no open point, and its commit is final', () => {
    const view = cutOverView(stagedMessage(ready, { instances }), true, true);
    expect(view.checks.filter(({ status }) => status === 'open')).toEqual([]);
    expect(view.primary?.isFinal).toBe(true);
  });

  test('takes no command once the migration is cleaned up, and says what to do', () => {
    const message = stagedMessage(
      { state: 'COMMITTED', metadataRemoved: true },
      { instances: { a: stagedInstance('a') } },
    );
    const { advice, primary, secondary } = cutOverView(message, true, true);
    expect([advice, primary, secondary]).toEqual([
      'Stop the instances, or restart them before another migration.',
      null,
      [],
    ]);
    expect(stateView(message).phase).toMatch(/^Committed and cleaned up/);
  });

  test.each(['IDLE', 'REVERSING'] as const)('%s has no points to meet', (state) => {
    expect(cutOverView(stagedMessage({ state }), true, true).checks).toEqual([]);
  });

  test('a commit that runs has no points that say nothing any more', () => {
    const { checks } = cutOverView(stagedMessage({ state: 'COMMITTING', percent: 100 }, { instances }), true, true);
    expect(checks.map(({ label }) => label)).not.toContain('All instances ready');
    expect(checks.map(({ label }) => label)).not.toContain('Nobody writes to the source');
  });

  test('a committed migration says what is done, and what is left', () => {
    const committed = { state: 'COMMITTED' as const, canWrite: true, metadataRemoved: false };
    const states = (progress: object) =>
      cutOverView(stagedMessage({ ...committed, ...progress }), true, true).checks.map(({ status }) => status);
    expect(states({})).toEqual(['met', 'unknown', 'open']);
    expect(states({ canWrite: false, metadataRemoved: true })).toEqual(['open', 'unknown', 'met']);
  });

  test.each([
    [{ reversible: true }, 'A reverse can go back afterwards.'],
    [{ reversible: false }, 'There is no way back: the migration was not started with reversible.'],
    [null, 'Only a reversible migration can go back.'],
  ])(
    'the confirmation of a commit says whether somebody writes, and whether there is a way back: %j',
    (options, way) => {
      const sourceWrites = {
        windowSeconds: 10,
        writes: 3,
        namespaces: [{ namespace: 'a.b', writes: 3 }],
        lastWriteAt: null,
      };
      const { primary } = cutOverView(stagedMessage({ ...ready, options, sourceWrites }, { instances }), true, true);
      expect(primary?.consequence).toMatch(/^▲ 3 writes to the source in the last 10 s: a\.b 3\.\n/);
      expect(primary?.consequence).toContain(way);
    },
  );

  test('a partly accepted command can be repeated', () => {
    const mixed = { a: stagedInstance('a'), b: stagedInstance('b', { state: 'PAUSED' }) };
    const message = stagedMessage({ warnings: [{ name: 'mixedStates', description: '' }] }, { instances: mixed });
    expect(offered(message, true, true)).toEqual(['resume', 'pause']);
  });

  test('replies list each rejection first, on its own', () => {
    const refused = { success: false, error: 'cannotCommit', errorDescription: 'It lags.' };
    expect(answerViews({ a: { success: true }, b: refused, c: { success: true } })).toEqual([
      { accepted: false, text: '✕ b: cannotCommit. It lags.' },
      { accepted: true, text: '✓ accepted: a, c' },
    ]);
  });

  test.each([
    [false, true, {}, 'then commit. Your token is read-only: commands need another one.'],
    [true, false, {}, 'The coordinator does not respond: these values are old.'],
    [true, true, { isConnected: false }, 'The coordinator cannot reach Redis, which commands need'],
    [true, true, { instances: {} }, 'for each source shard (convoy instance)'],
    [true, true, { failure: { error: 'retriesExhausted' as const, errorDescription: '' } }, nextStepAfterFailure],
  ])('may command %s, live %s, %j: no button, but the reason', (mayCommand, isLive, changes, refusal) => {
    const message = stagedMessage(ready, { instances, ...changes });
    const advice = expect.stringContaining(refusal) as string;
    expect(cutOverView(message, mayCommand, isLive)).toMatchObject({ advice, primary: null, secondary: [] });
  });
});

describe('reverse', () => {
  const twoShards = { a: stagedInstance('a'), b: stagedInstance('b') };
  const answered = (error: string): CommandView[] => [
    {
      commandId: '1',
      at_ms: 1,
      name: 'reverse',
      success: false,
      results: { a: { success: false, error } },
      waitingFor: [],
    },
  ];

  test.each([
    ['a start without reversible', { reversible: false }, [], 'Not started with reversible.'],
    ['a start with it', { reversible: true }, [], null],
    ['options that are too large to be reported', null, [], null],
    ['a permanently rejected reverse', null, answered('notReversible'), 'Not started with reversible.'],
    ['a reverse that failed otherwise', { reversible: true }, answered('sourceChangedSinceCommit'), null],
  ])('%s', (_name, options, commands, refusal) => {
    const message = stagedMessage({ state: 'COMMITTED', options }, { instances: twoShards });
    expect(reverseRefusal(message, commands)).toBe(refusal);
    const { advice, secondary } = cutOverView(message, true, true, refusal);
    expect(secondary.map(({ name }) => name)).toEqual(refusal === null ? ['reverse'] : []);
    expect(advice).toContain(refusal ?? 'A reverse swaps the clusters.');
  });

  test('clusters with different numbers of shards cannot be reversed', () => {
    const message = stagedMessage({ state: 'COMMITTED' }, { instances: { a: stagedInstance('a') } });
    expect(reverseRefusal(message, [])).toContain('different numbers of shards');
  });
});

describe('small cards', () => {
  test('warnings have advice', () => {
    expect(
      warningViews(stagedMessage({ warnings: [{ name: 'instancesSilent', description: 'x' }] }))[0]?.advice,
    ).toContain('process,');
  });

  test('the verifier is off, or has two sides', () => {
    expect(verifierView(stagedMessage())).toBeNull();
    const side = {
      estimatedDocumentCount: 200,
      hashedDocumentCount: 50,
      lagTimeSeconds: 1,
      phase: 'initial hashing' as const,
      scannedCollectionCount: 1,
      totalCollectionCount: 4,
    };
    expect(verifierView(stagedMessage({ verification: { source: side, destination: side } }))?.[1]).toMatchObject({
      side: 'Destination',
      documents: '50 of 200',
      collections: '1 of 4',
    });
  });

  test('names the shown collections and the sums of the rest', () => {
    const rows = [
      {
        namespace: 'a.b',
        instances: 1,
        totalBytes: 1,
        copiedBytes: 1,
        copiedDocuments: 1,
        partitions: { waiting: 0, starting: 0, copying: 0, done: 1 },
      },
    ];
    const others = { collections: 4_999, totalBytes: 2_000, copiedBytes: 1_000, copiedDocuments: 7 };
    expect(shownText({ success: true, total: 5_000, matching: 5_000, offset: 0, rows, others })).toBe(
      '1 to 1 of 5,000. The other 4,999: 1.00 kB of 2.00 kB, 7 documents.',
    );
    expect(shownText({ success: true, total: 5_000, matching: 0, offset: 0, rows: [], others })).toBe(
      'None of 5,000 collections matches.',
    );
  });

  test('a mismatch shows its topic and never document content', () => {
    const one = {
      namespace: 'a.b',
      kind: 'different' as const,
      _id: 'secret',
      paths: [{ path: 'x', kind: 'changed' as const }],
      detail: null,
      firstSeen: 'then',
      lastSeen: 'now',
      looks: 3,
      proven: false,
    };
    expect(mismatchText(one)).toBe('a.b: different (x changed), since then, seen 3 times, possibly a pending change');
  });
});

describe('charts', () => {
  const point = (at_ms: number, eventsApplied: number | null) => ({
    at_ms,
    copiedBytes: 5,
    totalBytes: 10,
    copiedDocuments: 2,
    eventsApplied,
    lagSeconds: 3,
  });

  test('computes rates from two neighbours, but not across a restart', () => {
    const points = [
      point(0, 0),
      point(2_000, 10),
      point(4_000, null),
      point(6_000, 40),
      point(8_000, 4),
      point(10_000, 8),
    ];
    expect(rateSeries(points, 'eventsApplied').values).toEqual([null, 5, null, null, null, 2]);
  });

  test('axis labels do not repeat', () => {
    expect(axisLabels([0, 0.4, 0.8, 1.2], (value) => `${Math.round(value)}/s`)).toEqual(['0/s', '', '1/s', '']);
    const at_seconds = new Date(2026, 4, 7, 8, 5, 30).getTime() / 1000;
    expect([15, 60, 86_400].map((step_seconds) => axisTime(at_seconds, step_seconds))).toEqual([
      '08:05:30',
      '08:05',
      '07 May',
    ]);
  });

  test('describes a chart as text', () => {
    expect(seriesText(levelSeries([point(0, 0)], 'lagSeconds'), durationText)).toBe('now 3 s');
    expect(seriesText({ times: [1, 2], values: [9, 4] }, durationText)).toBe('now 4 s, highest 9 s');
    expect(seriesText({ times: [], values: [] }, durationText)).toBe('no data yet');
  });
});
