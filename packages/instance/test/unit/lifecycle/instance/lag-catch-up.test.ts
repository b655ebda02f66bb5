import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CatchUp, nextCatchUp } from '../../../../src/lifecycle/instance/lag.js';

/** The estimates for a lag that is observed every `step_ms`. */
function estimatesOf(lags: readonly number[], step_ms = 1000): (number | null)[] {
  let state: CatchUp | null = null;
  return lags.map((lag_seconds, index) => {
    state = nextCatchUp(state, lag_seconds, index * step_ms);
    return state.seconds;
  });
}

describe('the time to catch up', () => {
  it('is nothing once the lag is that of a steady state', () => {
    expect(estimatesOf([0, 5, 30])).toEqual([0, 0, 0]);
  });

  it('is unknown at first', () => {
    expect(estimatesOf([1000, 990, 980])).toEqual([null, null, null]);
  });

  it('is the lag by the speed at which it shrinks, and counts down', () => {
    const estimates = estimatesOf(Array.from({ length: 40 }, (_, second) => 1000 - 10 * second));
    expect(estimates[5]).toBeCloseTo(95, 0);
    expect(estimates[39]).toBeCloseTo(61, 0);
  });

  it.each([
    ['stands still', 0],
    ['grows', 1],
  ])('is unknown while the lag %s', (_what, step) => {
    const estimates = estimatesOf(Array.from({ length: 40 }, (_, second) => 100 + step * second));
    expect(new Set(estimates)).toEqual(new Set([null]));
  });

  it('does not jump with the speed', () => {
    const slow = Array.from({ length: 30 }, (_, second) => 10_000 - second);
    const fast = Array.from({ length: 10 }, (_, second) => 9970 - 100 * second);
    const estimates = estimatesOf([...slow, ...fast]).slice(10);
    const drops = estimates.slice(1).map((seconds, index) => (seconds ?? 0) / (estimates[index] ?? 1));
    expect(Math.min(...drops)).toBeGreaterThan(0.85);
    expect(estimates.at(-1)).toBeLessThan((estimates[0] ?? 0) * 0.7);
  });

  it('is about the same however often it is computed', () => {
    const lags = Array.from({ length: 20 }, (_, second) => 500 - 5 * second);
    const often = lags.flatMap((lag) => [lag, lag, lag, lag]);
    const ratio = (estimatesOf(often, 250).at(-4) ?? NaN) / (estimatesOf(lags).at(-1) ?? NaN);
    expect(ratio).toBeGreaterThan(0.95);
    expect(ratio).toBeLessThan(1.05);
  });

  it('is never negative nor endless, whatever the lag does', () => {
    const lags = fc.array(fc.nat({ max: 100_000 }), { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(lags, fc.integer({ min: 1, max: 20_000 }), (found, step_ms) => {
        for (const seconds of estimatesOf(found, step_ms))
          if (seconds !== null) expect(seconds >= 0 && Number.isFinite(seconds)).toBe(true);
      }),
    );
  });
});
