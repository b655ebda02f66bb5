import { expect, it } from 'vitest';
import { applyRows } from '../../../src/peer/apply-rows.js';

const result = (seconds: number, cpu_seconds: number) => ({ seconds, cpu_seconds, peakMemoryBytes: 1e8 });
const cost = (seconds: number, cpu_seconds: number, checked_seconds = seconds) => {
  const checked = { ...result(checked_seconds, cpu_seconds), sourceCpu_seconds: 0.5, destinationCpu_seconds: 3 };
  // What applying alone takes counts for the rate only.
  return { ...checked, seconds, cpu_seconds: 0, destinationCpu_seconds: 0, peakMemoryBytes: 0, checked };
};

const backlog = { name: 'backlog' };

const own: [string, ReturnType<typeof cost>[]][] = [
  ['Convoy not verified', [cost(5, 2), cost(6, 2)]],
  ['Convoy verified', [cost(8, 4, 10)]],
];

it('compares the rate of a backlog with the bare limit and with the peer', () => {
  const tools = new Map([['ClusterSync', [cost(8, 1), cost(9, 1)]], ...own]);
  const rows = applyRows({ ...backlog, operations: 100_000, bare: [result(4, 1), result(5, 1)], tools });
  const row = (name: string, metric: string) =>
    rows.find((each) => each.case === `backlog ${name}` && each.metric === metric);
  const plain = 'Convoy not verified';
  expect(row(plain, 'rate of bare limit')).toMatchObject({ value: 0.8, goal: '>= 0.75', met: true });
  expect(row(plain, 'rate of ClusterSync')).toMatchObject({ value: 1.6, goal: '>= 1.6', met: true });
  expect(row(plain, 'CPU of ClusterSync')).toMatchObject({ value: 2, goal: '<= 0.7', met: false });
  expect(row('Convoy verified', 'rate of ClusterSync')).toMatchObject({ value: 1, goal: '>= 1.3', met: false });
  expect(row('Convoy verified', 'time until verified')).toMatchObject({ value: 10 });
  expect(row('Convoy verified', 'CPU of ClusterSync')).toMatchObject({ value: 4, goal: '<= 1.2', met: false });
  expect(row('ClusterSync', 'CPU of destination per million events')?.value).toBe(30);
});

it('leaves the peer out where it was not there', () => {
  const rows = applyRows({ ...backlog, operations: 100_000, bare: [result(4, 1)], tools: new Map(own) });
  expect(rows.filter(({ case: name, metric }) => `${name} ${metric}`.includes('ClusterSync'))).toEqual([]);
});
