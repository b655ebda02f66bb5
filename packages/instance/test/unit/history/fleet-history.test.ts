import { describe, expect, test } from 'vitest';
import {
  HISTORY_POINTS_MAX,
  historySchema,
  TIMELINE_ENTRIES_MAX,
  type TimelineEntry,
} from '@convoy/api/contract/history';
import { idleReport } from '@convoy/api/fleet/idle-report';
import type { InstanceReport, SeenReport } from '@convoy/api/fleet/fleet';
import {
  emptyHistory,
  lookAtFleet,
  pointOf,
  whatHappened,
  withEntries,
  withPoint,
} from '../../../src/history/fleet-history.js';

const point = (at_ms: number, lagSeconds: number | null = 0) => ({
  at_ms,
  copiedBytes: at_ms,
  totalBytes: 1,
  copiedDocuments: 1,
  eventsApplied: 1,
  lagSeconds,
});

describe('the history', () => {
  test('keeps six hours in its points, with the peaks of the lag, never nearer than the interval', () => {
    let history = emptyHistory();
    for (let second = 0; second <= 6 * 3600; second += 1)
      history = withPoint(history, point(second * 1000, second === 5_000 ? 99 : 1));
    expect(history.points.length).toBeLessThanOrEqual(HISTORY_POINTS_MAX);
    expect(history.points.length).toBeGreaterThan(HISTORY_POINTS_MAX / 2);
    expect(history.points[0]?.at_ms).toBeLessThan(history.interval_ms * 2);
    expect(history.points.at(-1)?.at_ms).toBeGreaterThan(6 * 3_600_000 - history.interval_ms);
    expect(Math.max(...history.points.map(({ lagSeconds }) => lagSeconds ?? 0))).toBe(99);
    expect(historySchema.safeParse(history).success).toBe(true);
  });

  test('keeps the start and the end of the timeline', () => {
    const entry = (at_ms: number): TimelineEntry => ({ at_ms, kind: 'phase', level: 'info', text: 'x'.repeat(2_000) });
    let history = emptyHistory();
    for (let at = 0; at < 1_000; at += 1) history = withEntries(history, [entry(at)]);
    expect(history.timeline).toHaveLength(TIMELINE_ENTRIES_MAX);
    expect(history.timeline[39]?.at_ms).toBe(39);
    expect(history.timeline.at(-1)?.at_ms).toBe(999);
    expect(history.entriesDropped).toBe(1_000 - TIMELINE_ENTRIES_MAX);
    expect(historySchema.safeParse(history).success).toBe(true);
  });
});

function seen(
  id: string,
  changes: Partial<InstanceReport> = {},
  fresh = true,
  incarnation = '1',
): [string, SeenReport] {
  return [id, { report: idleReport({ id, syncID: id, incarnation, release: '1' }, changes), reportedAt_ms: 0, fresh }];
}

const ids = ['a', 'b'];
const texts = (before: [string, SeenReport][], now: [string, SeenReport][], leader: string | null = null) =>
  whatHappened(
    lookAtFleet(new Map(before), ids, null),
    lookAtFleet(new Map(now), ids, leader === null ? null : { id: leader, syncID: leader }),
    7,
  ).map(({ text }) => text);

describe('the timeline', () => {
  const running = { state: 'RUNNING' as const };

  test('has a state once all instances have it', () => {
    expect(texts([seen('a'), seen('b')], [seen('a', running), seen('b')])).toEqual([]);
    expect(texts([seen('a'), seen('b')], [seen('a', running), seen('b', running)], 'a')).toEqual([
      'Instance a leads the fleet.',
      'The fleet is RUNNING.',
    ]);
  });

  test('shows instances that stop reporting, report again and restart', () => {
    expect(texts([seen('a'), seen('b')], [seen('a', {}, false), seen('b', {}, true, '2')])).toEqual([
      'Instance a has stopped reporting.',
      'Instance b was restarted.',
    ]);
    expect(texts([seen('a', {}, false), seen('b')], [seen('a'), seen('b')])).toEqual(['Instance a reports again.']);
  });

  test('shows warnings that start and end, and a failure once', () => {
    const { progress } = idleReport({ id: 'a', syncID: 'a', incarnation: '1', release: '1' });
    const warned = { progress: { ...progress, warnings: [{ name: 'w', description: 'd' }] } };
    const failed = { failure: { error: 'retriesExhausted' as const, errorDescription: 'gone' } };
    expect(texts([seen('a'), seen('b')], [seen('a', warned), seen('b')])).toEqual(['Warning w: d']);
    expect(texts([seen('a', warned), seen('b')], [seen('a', failed), seen('b')])).toEqual([
      'Warning w is over.',
      'The migration failed: retriesExhausted. gone',
    ]);
    expect(texts([seen('a', failed), seen('b')], [seen('a', failed), seen('b', failed)])).toEqual([]);
  });

  test('a point sums the stats of all instances except the total; a missing one makes the sum unknown', () => {
    const { progress } = idleReport({ id: 'a', syncID: 'a', incarnation: '1', release: '1' });
    const copying = {
      progress: {
        ...progress,
        totalEventsApplied: 4,
        lagTimeSeconds: 2,
        collectionCopy: { estimatedTotalBytes: 50, estimatedCopiedBytes: 10 },
      },
    };
    expect(pointOf(new Map([seen('a', copying), seen('b', copying)]), ids, 9)).toEqual({
      at_ms: 9,
      copiedBytes: 20,
      totalBytes: 50,
      copiedDocuments: null,
      eventsApplied: 8,
      lagSeconds: 2,
    });
    expect(pointOf(new Map([seen('a', copying)]), ids, 9).copiedBytes).toBeNull();
  });
});
