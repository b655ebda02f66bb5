import { describe, expect, it } from 'vitest';
import { growthRows, type GrowthStep } from '../../../src/copy/growth-rows.js';

const cost = (seconds: number) => ({
  seconds,
  cpu_seconds: seconds / 2,
  sourceCpu_seconds: 0,
  destinationCpu_seconds: 0,
  peakMemoryBytes: 2e8,
});

function step(count: number, seconds: number, bare_seconds: number): GrowthStep {
  return { count, bare_seconds, run: { ...cost(seconds), initialisation: cost(1), ready: cost(seconds) } };
}

describe('rows of the cost of one more item', () => {
  it("exclude a run's fixed costs", () => {
    const rows = growthRows('collection', [step(1, 2, 0.1), step(101, 3, 0.6), step(1101, 13, 5.6)]);
    const value = (name: string, metric: string) =>
      rows.find((row) => row.case === name && row.metric === metric)?.value;
    expect(value('1 to 101', 'time per collection')).toBeCloseTo(10);
    expect(value('101 to 1101', 'bare round trips per collection')).toBeCloseTo(5);
    expect(value('101 to 1101', 'multiple per collection')).toBeCloseTo(2);
  });

  it('compare the last multiple with the first', () => {
    const growth = (last_seconds: number) =>
      growthRows('chunk', [step(1, 2, 0.1), step(101, 3, 0.6), step(1101, last_seconds, 5.6)]).at(-1);
    expect(growth(13)).toMatchObject({ case: '1 to 1101', goal: '<= 1.5', met: true });
    expect(growth(33)).toMatchObject({ met: false });
  });

  it('compare with a step above the noise', () => {
    const noisy = [step(1, 2, 4), step(101, 3, 3), step(1101, 13, 8), step(5101, 53, 28)];
    expect(growthRows('collection', noisy).at(-1)).toMatchObject({ case: '101 to 5101', value: 1, met: true });
  });

  it('need two differences to compare', () => {
    expect(growthRows('chunk', [step(1, 2, 0.1), step(101, 3, 0.6)]).every(({ goal }) => goal === undefined)).toBe(
      true,
    );
  });
});
