import { describe, expect, it } from 'vitest';
import { commitRows } from '../../../src/peer/commit-part.js';
import { percentile } from '../../../src/peer/users-order.js';
import { usersRows } from '../../../src/peer/users-part.js';

const seen = (p50_ms: number, p99_ms: number, rate: number) => ({ seconds: 2, operations: rate * 2, p50_ms, p99_ms });

describe('rows of users', () => {
  const alone: [string, ReturnType<typeof seen>[]] = ['alone', [seen(1, 5, 400)]];
  const beside: [string, ReturnType<typeof seen>[]][] = [
    ['ClusterSync', [seen(4, 40, 380)]],
    ['Convoy verified', [seen(2, 50, 390), seen(9, 90, 100)]],
  ];

  it('compare their latency and rate with users alone and with those beside the peer', () => {
    const rows = usersRows('copy', new Map([alone, ...beside]));
    const row = (metric: string) =>
      rows.find((each) => each.case.endsWith('Convoy verified') && each.metric === metric);
    expect(row('p50 of alone')?.value).toBe(2);
    expect(row('p50 of ClusterSync')).toMatchObject({ value: 0.5, goal: '<= 1', met: true });
    expect(row('p99 of ClusterSync')).toMatchObject({ value: 1.25, met: false });
    expect(row('rate of ClusterSync')).toMatchObject({ goal: '>= 1', met: false });
    expect(rows.filter((each) => each.case === 'users alone')).toHaveLength(3);
  });

  it('of another phase are compared with the same users alone', () => {
    const rows = usersRows('apply', new Map(beside), alone[1]);
    expect(rows.find(({ metric }) => metric === 'p99 of alone')?.value).toBe(8);
    expect(rows.some((each) => each.case === 'users alone')).toBe(false);
  });

  it('take the value that a part of all does not exceed', () => {
    const values = Array.from({ length: 200 }, (_, index) => 200 - index);
    expect(percentile(values, 0.5)).toBe(100);
    expect(percentile(values, 0.99)).toBe(198);
    expect(() => percentile([], 0.5)).toThrow(RangeError);
  });
});

it('rows of commits have a goal for Convoy, and none for the peer', () => {
  const one = { writable_seconds: 0.8, writtenPerSecond: 990, missing: 0 };
  const rows = commitRows(
    new Map([
      ['ClusterSync', [one]],
      ['Convoy verified', [one, { ...one, writable_seconds: 1.5, missing: 2 }]],
    ]),
  );
  const row = (name: string, metric: string) =>
    rows.find((each) => each.case === `commit ${name}` && each.metric === metric);
  expect(row('ClusterSync', 'last write to writable')?.goal).toBeUndefined();
  expect(row('Convoy verified', 'last write to writable')).toMatchObject({ value: 0.8, goal: '<= 0.6', met: false });
  expect(row('Convoy verified', 'last write to writable, slowest')?.value).toBe(1.5);
  expect(row('Convoy verified', 'missing writes')).toMatchObject({ value: 2, met: false });
});
