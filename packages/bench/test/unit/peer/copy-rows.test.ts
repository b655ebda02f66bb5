import { describe, expect, it } from 'vitest';
import { copyRows } from '../../../src/peer/copy-rows.js';
import type { CopyRun } from '../../../src/peer/copy-run.js';

const cost = (seconds: number, cpu_seconds: number) => ({
  seconds,
  cpu_seconds,
  sourceCpu_seconds: 1,
  destinationCpu_seconds: 2,
  peakMemoryBytes: 2e8,
});

const run = (seconds: number, cpu_seconds: number, ready_seconds: number): CopyRun => ({
  ...cost(seconds, cpu_seconds),
  initialisation: cost(1, 0),
  ready: { ...cost(ready_seconds, cpu_seconds + 1), peakMemoryBytes: 3.5e8 },
});

const convoy: [string, CopyRun[]][] = [
  ['Convoy not verified', [run(11, 4, 11), run(10, 5, 10)]],
  ['Convoy verified', [run(12, 6, 18), run(13, 6, 15)]],
];
const bare = [cost(20, 1), cost(9, 1)];
const goals = { ofPeerMin: { plain: 1.2, verified: 1 }, ofBareLoopMin: 0.95 };

describe('rows of the copy beside a peer', () => {
  const rows = copyRows({
    name: '1 kB',
    bytes: 1e9,
    goals,
    bare,
    tools: new Map([['ClusterSync', [run(13, 10, 13), run(12, 9, 12)]], ...convoy]),
  });
  const row = (name: string, metric: string) =>
    rows.find((each) => each.case === `1 kB ${name}` && each.metric === metric);

  it('compare medians with the peer, and with the fastest bare loop without the start', () => {
    expect(row('ClusterSync', 'throughput')?.value).toBeCloseTo(1_000 / 12);
    const plain = 'Convoy not verified';
    expect(row(plain, 'throughput of ClusterSync')).toMatchObject({ value: 1.2, goal: '>= 1.2', met: true });
    expect(row(plain, 'throughput of bare loop, after initialisation')).toMatchObject({ value: 1, met: true });
    expect(row(plain, 'CPU of ClusterSync')).toMatchObject({ value: 4 / 9, goal: '<= 0.5', met: true });
    expect(row('Convoy verified', 'throughput of ClusterSync')).toMatchObject({
      value: 12 / 12,
      goal: '>= 1',
      met: true,
    });
  });

  it('compare a verified copy with one that is not, and the wait until a commit with the copy', () => {
    expect(row('Convoy verified', 'copy time of not verified')).toMatchObject({ value: 1.2, met: false });
    const wait = row('Convoy verified', 'from copied to ready to commit, in copy times');
    expect(wait).toMatchObject({ value: 2 / 13, goal: '<= 0.35', met: true });
  });

  it('show the CPU time of the servers, and the peak memory up to the end', () => {
    expect(row('bare loop', 'CPU of destination')).toMatchObject({ value: 2, unit: 's/GB' });
    expect(row('Convoy verified', 'CPU until ready to commit')?.value).toBe(7);
    expect(row('Convoy verified', 'peak memory of an instance')).toMatchObject({ value: 350, met: false });
  });
});

it('leaves the peer out where it was not there', () => {
  const rows = copyRows({ name: '1 kB', bytes: 1e9, goals, bare, tools: new Map(convoy) });
  expect(rows.filter(({ case: name, metric }) => `${name} ${metric}`.includes('ClusterSync'))).toEqual([]);
  expect(rows.filter(({ goal }) => goal !== undefined)).toHaveLength(5);
});
