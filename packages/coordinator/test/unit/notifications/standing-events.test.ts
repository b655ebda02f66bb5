import { describe, expect, it } from 'vitest';
import type { NotifiedEvent } from '@convoy/api/configuration/notify-settings';
import type { MigrationState, Progress } from '@convoy/api/contract/progress';
import { changesOf, isNews, observe } from '../../../src/notifications/standing-events.js';
import { snapshot, type ReportChanges } from '../director/snapshots.js';

const limits = {
  lag: { raise_seconds: 300, clear_seconds: 60 },
  oplog: { raise_seconds: 3_600, clear_seconds: 7_200 },
};

const ready = { canCommit: true, canWrite: false };
const applying: Partial<Progress> = { info: 'change event application', canCommit: true, lagTimeSeconds: 1 };

/** The changes of events while the fleet passes through the given reports of its one instance. */
function changesAlong(reports: readonly ReportChanges[]): string[][] {
  const standing = new Set<NotifiedEvent>();
  return reports.map((report) => {
    const observation = observe(snapshot({ a: report }));
    if (observation === null) throw new Error('the fleet is known');
    const changes = changesOf(observation, limits, standing);
    for (const { event, status } of changes) {
      if (status === 'raised') standing.add(event);
      else standing.delete(event);
    }
    return changes.filter(isNews).map(({ event, status }) => `${event} ${status}`);
  });
}

const lagging = (lagTimeSeconds: number | null): ReportChanges => ({ progress: { ...applying, lagTimeSeconds } });

describe('events of a fleet', () => {
  it('are ready and committed once each, however often canCommit toggles or an instance restarts', () => {
    const running: ReportChanges = { state: 'RUNNING', ready, progress: applying };
    const committed: ReportChanges = {
      state: 'COMMITTED',
      ready: { canCommit: false, canWrite: true },
      progress: { canWrite: true },
    };
    expect(
      changesAlong([
        { state: 'IDLE' },
        { state: 'RUNNING' },
        running,
        { state: 'RUNNING', progress: { canCommit: false } },
        { state: 'PAUSED' },
        { state: 'INITIALIZING' },
        running,
        { state: 'COMMITTING' },
        { state: 'COMMITTED' },
        committed,
        { state: 'INITIALIZING' },
        committed,
      ]),
    ).toEqual([[], [], ['ready raised'], [], [], [], [], [], [], ['committed raised'], [], []]);
  });

  it('come again after a reverse', () => {
    const running: ReportChanges = { state: 'RUNNING', ready, progress: applying };
    const committed: ReportChanges = { state: 'COMMITTED', ready: { canCommit: false, canWrite: true } };
    expect(changesAlong([running, committed, { state: 'REVERSING' }, running, committed])).toEqual([
      ['ready raised'],
      ['committed raised'],
      [],
      ['ready raised'],
      ['committed raised'],
    ]);
  });

  it('are a failure once, and again after a new start', () => {
    const failed: ReportChanges = {
      state: 'RUNNING',
      failure: { error: 'oplogHistoryLost', errorDescription: 'Lost.' },
    };
    expect(changesAlong([{}, failed, { state: 'INITIALIZING' }, failed, { state: 'IDLE' }, failed])).toEqual([
      [],
      ['failed raised'],
      [],
      [],
      [],
      ['failed raised'],
    ]);
  });

  it('are a lag once above its limit, and its end once far below', () => {
    expect(changesAlong([300, 301, 200, 301, 61, 60, 301].map(lagging))).toEqual([
      [],
      ['lag raised'],
      [],
      [],
      [],
      ['lag cleared'],
      ['lag raised'],
    ]);
  });

  it('are no lag during the copy, and a pause leaves it as it is', () => {
    expect(
      changesAlong([
        { progress: { info: 'collection copy', lagTimeSeconds: 900 } },
        lagging(900),
        { state: 'PAUSED', progress: { info: 'paused', lagTimeSeconds: null } },
        lagging(400),
        { state: 'COMMITTED' },
      ]),
    ).toEqual([[], ['lag raised'], [], [], ['lag cleared']]);
  });

  it('are a short oplog, also in a pause, and its end with a wide margin', () => {
    const left = (oplogRemaining_seconds: number | null): ReportChanges => ({
      state: 'PAUSED',
      oplogRemaining_seconds,
    });
    expect(changesAlong([3_600, 3_599, null, 3_700, 7_199, 7_200, 3_599].map(left))).toEqual([
      [],
      ['oplog raised'],
      [],
      [],
      [],
      ['oplog cleared'],
      ['oplog raised'],
    ]);
  });

  it('are a lag that grows with the silence of a killed instance, and its end once it applies again', () => {
    const silent = (seconds: number, state: MigrationState = 'RUNNING'): ReportChanges => ({
      ...lagging(3),
      state,
      fresh: false,
      silent_ms: seconds * 1_000,
    });
    expect(
      changesAlong([lagging(3), silent(297), silent(298), lagging(3), silent(900, 'COMMITTED'), silent(298)]),
    ).toEqual([[], [], ['lag raised'], ['lag cleared'], [], ['lag raised']]);
  });

  it('are an oplog that shrinks with the silence of a killed instance', () => {
    const silent = (seconds: number): ReportChanges => ({
      state: 'PAUSED',
      oplogRemaining_seconds: 3_700,
      fresh: false,
      silent_ms: seconds * 1_000,
    });
    expect(changesAlong([100, 101, 9_000].map(silent))).toEqual([[], ['oplog raised'], []]);
  });

  it('wait for heartbeats after a connection: an outage of Redis was no silence of the instances', () => {
    const fleet = snapshot({ a: { ...lagging(3), oplogRemaining_seconds: 3_700, fresh: false, silent_ms: 600_000 } });
    const eventsAfter = (listening_ms: number, standing: readonly NotifiedEvent[] = []) => {
      const observation = observe(fleet, listening_ms);
      return observation === null ? null : changesOf(observation, limits, new Set(standing)).map(({ event }) => event);
    };
    expect(eventsAfter(59_000)).toEqual([]);
    expect(eventsAfter(59_000, ['lag', 'oplog'])).toEqual([]);
    expect(eventsAfter(60_000)).toEqual(['lag', 'oplog']);
  });

  it('are unknown without a connection to Redis, or before any instance was seen', () => {
    expect(observe({ ...snapshot({ a: {} }), isConnected: false })).toBeNull();
    expect(observe(snapshot({}))).toBeNull();
  });
});
