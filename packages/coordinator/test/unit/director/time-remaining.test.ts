import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextEstimate, type RemainingEstimate } from '../../../src/director/time-remaining.js';

describe('nextEstimate', () => {
  it('starts with the current rate', () => {
    expect(nextEstimate(null, 1_000, 10, 0)?.seconds).toBe(100);
    expect(nextEstimate(null, 1_000, 0, 0)).toBeNull();
    expect(nextEstimate(null, 0, 0, 0)?.seconds).toBe(0);
  });

  it('stays while the copy stalls, and ends after a minute', () => {
    const first = nextEstimate(null, 1_000, 10, 0);
    const standing = nextEstimate(first, 1_000, 0, 30_000);
    expect(standing?.seconds).toBe(100);
    expect(nextEstimate(standing, 1_000, 0, 61_000)).toBeNull();
  });

  it('approaches a new rate within two minutes', () => {
    let estimate = nextEstimate(null, 1_000_000, 1_000, 0);
    for (let second = 1; second <= 120; second += 1)
      estimate = nextEstimate(estimate, 1_000_000, 10_000, second * 1_000);
    expect(estimate?.seconds).toBeLessThan(130);
  });

  it('ignores the slow first moment of a copy', () => {
    let estimate = nextEstimate(null, 100_000, 10, 0);
    for (let second = 1; second <= 10; second += 1) estimate = nextEstimate(estimate, 100_000, 1_000, second * 1_000);
    expect(estimate?.seconds).toBeCloseTo(100, 0);
  });

  it('changes little per second after the first 30 s, even when the rate jumps', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 500, max: 2_000 }), { minLength: 2, maxLength: 50 }), (rates) => {
        let previous = nextEstimate(null, 1_000_000, 1_000, 0);
        for (let second = 1; second <= 30; second += 1)
          previous = nextEstimate(previous, 1_000_000, 1_000, second * 1_000);
        rates.forEach((rate, second) => {
          const next: RemainingEstimate | null = nextEstimate(previous, 1_000_000, rate, (31 + second) * 1_000);
          if (previous === null || next === null) throw new Error('no estimate');
          // A factor of four between rates, smoothed over 30 s.
          expect(Math.abs(next.seconds - previous.seconds)).toBeLessThan(0.11 * previous.seconds);
          previous = next;
        });
      }),
    );
  });
});
