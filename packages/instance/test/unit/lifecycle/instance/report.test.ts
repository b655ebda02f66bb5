import { blockedBy } from '@convoy/api/contract/commit-blocker';
import { idleProgress, type Progress } from '@convoy/api/contract/progress';
import type { InstanceIdentity } from '@convoy/api/fleet/fleet';
import { idleReport } from '@convoy/api/fleet/idle-report';
import { describe, expect, it } from 'vitest';
import { Rates, reportOf, type ReportSource } from '../../../../src/lifecycle/instance/report.js';
import { only } from '../../../../../../test/only.js';
import type { Clock } from '../../../../src/async/clock.js';

function ratesAt(): { rates: Rates; advance: (by_ms: number) => void } {
  let now_ms = 0;
  return {
    rates: new Rates(only<Clock>({ monotonic_ms: () => now_ms })),
    advance: (by_ms) => {
      now_ms += by_ms;
    },
  };
}

describe('rates', () => {
  it('are nothing at first and within one moment', () => {
    const { rates } = ratesAt();
    expect(rates.take(100, 10)).toEqual({ copyBytesPerSecond: 0, eventsPerSecond: 0 });
    expect(rates.take(200, 20)).toEqual({ copyBytesPerSecond: 0, eventsPerSecond: 0 });
  });

  it('are what was added per second', () => {
    const { rates, advance } = ratesAt();
    rates.take(0, 0);
    advance(2000);
    expect(rates.take(1000, 50)).toEqual({ copyBytesPerSecond: 500, eventsPerSecond: 25 });
  });

  it('forget what is older than the last seconds', () => {
    const { rates, advance } = ratesAt();
    rates.take(0, 0);
    for (let second = 1; second <= 20; second += 1) {
      advance(1000);
      rates.take(10_000, second);
    }
    expect(rates.take(10_000, 20)).toEqual({ copyBytesPerSecond: 0, eventsPerSecond: 1 });
  });

  it('are never negative, as after a partition that was started anew', () => {
    const { rates, advance } = ratesAt();
    rates.take(1000, 10);
    advance(1000);
    expect(rates.take(500, 5)).toEqual({ copyBytesPerSecond: 0, eventsPerSecond: 0 });
  });
});

const sourceOf = (identity: InstanceIdentity): ReportSource => ({
  identity,
  state: 'RUNNING',
  failure: null,
  ready: { canCommit: true, canWrite: false },
  expectedIds: ['shard0'],
  clusterIds: null,
  optionsDigest: 'd',
  step: 'syncing',
  progress: idleProgress(),
  mismatches: [],
  refused: undefined,
});

it('the totals of a migration that goes on after a restart are no rate', () => {
  const { rates, advance } = ratesAt();
  const identity = { id: 'shard0', syncID: 'shard0', incarnation: '1', release: '2.0.0' };
  const ratesWith = (changes: Partial<Progress>): unknown => {
    advance(1000);
    return reportOf({ ...sourceOf(identity), progress: { ...idleProgress(), ...changes } }, rates).rates;
  };
  const copied = (estimatedCopiedBytes: number) => ({ estimatedTotalBytes: 2e9, estimatedCopiedBytes });
  const none = { copyBytesPerSecond: 0, eventsPerSecond: 0 };
  expect(ratesWith({})).toEqual(none);
  expect(ratesWith({ collectionCopy: copied(1e9), totalEventsApplied: 1e6 })).toEqual(none);
  expect(ratesWith({ collectionCopy: copied(1e9 + 500), totalEventsApplied: 1e6 + 5 })).toEqual({
    copyBytesPerSecond: 500,
    eventsPerSecond: 5,
  });
});

it('a report carries what peers decide by', () => {
  const { rates } = ratesAt();
  const identity = { id: 'shard0', syncID: 'shard0', incarnation: '1', release: '2.0.0' };
  const ready = { canCommit: true, canWrite: false };
  expect(reportOf(sourceOf(identity), rates)).toEqual(
    idleReport(identity, { state: 'RUNNING', ready, expectedIds: ['shard0'], optionsDigest: 'd', step: 'syncing' }),
  );
});

it('a report names only its own reasons that block a commit, which grow with the fleet otherwise', () => {
  const { rates } = ratesAt();
  const identity = { id: 'shard0', syncID: 'shard0', incarnation: '1', release: '2.0.0' };
  const blockers = ['shard0', 'shard1', 'shard2'].map((instance) => ({ instance, ...blockedBy('copying', 'copies') }));
  const report = reportOf({ ...sourceOf(identity), progress: { ...idleProgress(), commitBlockers: blockers } }, rates);
  expect(report.progress.commitBlockers).toEqual([blockers[0]]);
});
