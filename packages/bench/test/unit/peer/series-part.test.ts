import { expect, it } from 'vitest';
import type { CopyRun } from '../../../src/peer/copy-run.js';
import { measurementRows } from '../../../src/peer/series-part.js';

const cost = (seconds: number) => ({
  seconds,
  cpu_seconds: 1,
  sourceCpu_seconds: 1,
  destinationCpu_seconds: 2,
  peakMemoryBytes: 2e8,
});
const run = (seconds: number): CopyRun => ({ ...cost(seconds), initialisation: cost(1), ready: cost(seconds + 1) });

it('rates of a time series count measurements, of the median round and of the fastest bare loop', () => {
  const tools = new Map([['Convoy verified', [run(20), run(10), run(16)]]]);
  const compared = { name: 'time series', bytes: 1e8, goals: {}, bare: [cost(8), cost(5)], tools };
  const rows = measurementRows(compared, 800, 4);
  expect(rows.map(({ case: name, metric, value }) => [name, metric, value])).toEqual([
    ['time series of each copy', 'measurements', 800],
    ['time series of each copy', 'buckets', 4],
    ['time series bare loop', 'measurements', 160],
    ['time series Convoy verified', 'measurements', 50],
  ]);
});
