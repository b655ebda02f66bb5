import { expect, test } from 'vitest';
import type { PublishedDetails } from '@convoy/api/fleet/published-details';
import { RecentLogs } from '../../../src/logging/recent-logs.js';
import { publishLogs } from '../../../src/process/instance-process.js';
import { only } from '../../../../../test/only.js';
import type { Clock } from '../../../src/async/clock.js';

const line = '{"level":"warn","time":"2026-01-01T00:00:00.000Z","event":"retry","msg":"x"}';

/** Runs the publisher; each step is one second of its clock. @returns how many records it published each time */
async function published(steps: readonly ((recent: RecentLogs) => void)[]): Promise<number[]> {
  const recent = new RecentLogs();
  const ending = new AbortController();
  const sizes: number[] = [];
  const fleet = {
    publishDetails: (_topic: string, { records }: PublishedDetails['logs']) => void sizes.push(records.length),
  };
  let [now_ms, step] = [0, 0];
  const sleep = (pause_ms: number): Promise<void> => {
    now_ms += pause_ms;
    steps[step]?.(recent);
    step += 1;
    if (step >= steps.length) ending.abort();
    return Promise.resolve();
  };
  const clock = { monotonic_ms: () => now_ms, sleep };
  await publishLogs(recent, fleet as Parameters<typeof publishLogs>[1], only<Clock>(clock), ending.signal);
  return sizes;
}

const nothing = (): undefined => undefined;
const warn = (recent: RecentLogs): void => recent.take(line);

test('new records are published together, and a last time at the end', async () => {
  expect(await published([nothing, warn, nothing])).toEqual([1]);
  const three = (recent: RecentLogs): void => [1, 2, 3].forEach(() => recent.take(line));
  expect(await published([three, warn])).toEqual([3, 4]);
});

test('without news they are published again now and then, since Redis may have lost them', async () => {
  expect(await published([warn, ...Array.from({ length: 45 }, () => nothing)])).toEqual([1, 1]);
  expect(await published(Array.from({ length: 60 }, () => nothing))).toEqual([]);
});
