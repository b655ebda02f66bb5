import { describe, expect, it } from 'vitest';
import { collectionRows, type CollectionsStep } from '../../../src/peer/collections-part.js';
import type { CopyRun } from '../../../src/peer/copy-run.js';

const cost = (seconds: number, peakMemoryBytes: number) => ({
  seconds,
  cpu_seconds: seconds / 2,
  sourceCpu_seconds: 1,
  destinationCpu_seconds: 2,
  peakMemoryBytes,
});

const run = (seconds: number): CopyRun => ({
  ...cost(seconds, 2e8),
  initialisation: cost(1, 1e8),
  ready: cost(seconds + 2, 3e8),
});

function step(count: number, convoy_seconds: number, peer_seconds?: number): CollectionsStep {
  const peer: [string, CopyRun][] = peer_seconds === undefined ? [] : [['ClusterSync', run(peer_seconds)]];
  return { count, bare_seconds: count / 200, tools: new Map([...peer, ['Convoy verified', run(convoy_seconds)]]) };
}

describe('rows of the copy of many collections', () => {
  it('show the cost of one more, and compare the largest copy with the peer', () => {
    const rows = collectionRows([step(100, 2, 3), step(1_100, 12, 23), step(5_100, 52, 103)]);
    const row = (name: string, metric: string) => rows.find((each) => each.case === name && each.metric === metric);
    expect(row('Convoy verified: 1100 to 5100', 'time per collection')?.value).toBeCloseTo(10);
    expect(row('ClusterSync: 1100 to 5100', 'time per collection')?.value).toBeCloseTo(20);
    expect(row('Convoy verified: 100 to 5100', 'growth of the multiple per collection')?.value).toBeCloseTo(1);
    expect(row('Convoy verified: 5100 collections', 'peak memory of an instance')?.value).toBe(300);
    expect(row('Convoy verified: 5100 collections', 'time from start to copied of ClusterSync')).toMatchObject({
      value: 52 / 103,
      met: true,
    });
  });

  it('leave the peer out where it was not there', () => {
    const rows = collectionRows([step(100, 2), step(1_100, 12)]);
    expect(rows.filter(({ case: name, metric }) => `${name} ${metric}`.includes('ClusterSync'))).toEqual([]);
  });
});
