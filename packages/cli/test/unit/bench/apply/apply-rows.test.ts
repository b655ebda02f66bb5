import { describe, expect, it } from 'vitest';
import { workloadRows } from '../../../../src/bench/apply/apply-rows.js';
import { type RateStep, steadyRows } from '../../../../src/bench/apply/steady-rows.js';

const result = (seconds: number, peakMemoryBytes = 1e8) => ({
  seconds,
  cpu_seconds: 1,
  peakMemoryBytes,
  busiest_seconds: seconds * 0.75,
});

describe('rows of the apply benchmark', () => {
  const form = { workers: 4, operationsMax: 1_000, order: 'folded' } as const;
  const rows = workloadRows({
    name: 'update 1 kB',
    operations: 10_000,
    sweep: [{ form, result: result(1) }],
    bare: [result(1), result(2)],
    engine: [result(2), result(3, 4e8)],
    promisesSpeed: true,
    ordered: { operations: 1_000, result: result(1) },
  });
  const row = (subject: string, metric: string) =>
    rows.find((each) => each.case === `update 1 kB ${subject}` && each.metric === metric);

  it('compare the engine with the bare limit', () => {
    expect(row('bare limit', '4 workers of 1000')?.value).toBe(10_000);
    expect(row('engine', 'events')?.value).toBe(5_000);
    expect(row('engine', 'rate of bare limit')).toMatchObject({ value: 0.5, goal: '>= 0.8', met: false });
    expect(row('engine', 'CPU per million events')?.value).toBe(100);
    expect(row('ordered batches', 'events')?.value).toBe(1_000);
  });

  it('show the rate that the busiest processes allow', () => {
    expect(row('engine', 'rate of bare limit, a processor for each process')?.value).toBe(0.5);
  });

  it('show the highest peak', () => {
    expect(row('engine', 'peak memory of an instance')).toMatchObject({ value: 400, met: false });
  });
});

describe('rows of the steady benchmark', () => {
  const step = (fraction: number, drain_seconds: number): RateStep => ({
    fraction,
    wantedPerSecond: fraction * 1_000,
    writtenPerSecond: fraction * 1_000,
    lagMax_seconds: 1,
    drain_seconds,
    cpu_seconds: 1,
    operations: 1_000,
  });
  const rows = steadyRows(
    1_000,
    [step(0.2, 0.5), step(0.4, 1), step(0.6, 9)],
    [{ name: 'lone instance', cpuFraction: 0.03 }],
  );

  it('name the highest sustained rate', () => {
    expect(rows.find(({ metric }) => metric === 'highest rate that holds')?.value).toBe(400);
    expect(rows.find(({ metric }) => metric === 'of bare limit')?.value).toBe(0.4);
    expect(rows.filter(({ metric }) => metric === 'behind the last write').map(({ met }) => met)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('compare an idle instance with its goal', () => {
    expect(rows.at(-1)).toMatchObject({ value: 3, goal: '<= 2', met: false });
  });
});
