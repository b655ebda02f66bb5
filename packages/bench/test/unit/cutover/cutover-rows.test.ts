import { commitSteps } from '@convoy/instance/lifecycle/migration/steps';
import { describe, expect, it } from 'vitest';
import { cutOverRows, type CutOverMeasured } from '../../../src/cutover/cutover-rows.js';

/** Each step takes the given time, from the acceptance on. */
function cutOver(step_ms: number, more: Partial<CutOverMeasured> = {}): CutOverMeasured {
  const steps = new Map(commitSteps.map((step, at) => [step as string, 100 + (at + 1) * step_ms]));
  return {
    commandAt_ms: 0,
    acceptedAt_ms: 100,
    steps,
    refusedAt_ms: 200,
    canWriteAt_ms: 100 + commitSteps.length * step_ms,
    writtenPerSecond: 1_000,
    missing: 0,
    acknowledged: 5_000,
    ...more,
  };
}

describe('rows of the cut-over benchmark', () => {
  const rows = cutOverRows(
    'verified',
    [cutOver(10), cutOver(30), cutOver(20)],
    new Map([
      ['sourceBlocked', 4],
      ['commitStarted', 1],
    ]),
  );
  const valueOf = (metric: string) => rows.find((row) => row.metric === metric)?.value;

  it('split the median time by step, with the bare round trips of each', () => {
    expect([valueOf('command accepted'), valueOf('commitStarted'), valueOf('sourceBlocked')]).toEqual([100, 20, 20]);
    expect([
      valueOf('commitStarted: bare round trips'),
      valueOf('sourceBlocked: bare round trips'),
      valueOf('bare round trips of all steps'),
    ]).toEqual([1, 4, 5]);
  });

  it('end when an application may write', () => {
    expect(valueOf('writesAllowed')).toBe(20);
    expect(valueOf('committed')).toBeUndefined();
    expect(rows.find(({ metric }) => metric === 'commit to canWrite')).toMatchObject({
      value: 100 + commitSteps.length * 20,
      met: true,
    });
  });

  it('miss the goal with one lost acknowledged write', () => {
    const missed = cutOverRows('verified', [cutOver(10), cutOver(10, { missing: 1 })], new Map());
    expect(missed.find(({ metric }) => metric.includes('missing'))).toMatchObject({ value: 1, met: false });
    expect(missed.find(({ metric }) => metric === 'acknowledged writes')?.value).toBe(10_000);
  });
});
