import { type Row, withGoal } from '../benchmark.js';
import type { RunUsage } from '../process-usage.js';

/** Promised peak for an instance with the default buffer limit, with or without the verifier. */
const memoryMegabytesMax = 300;

/** The highest peak of an instance in all runs, with its goal. */
export function memoryRow(subject: string, runs: readonly RunUsage[]): Row {
  const value = Math.max(...runs.map(({ peakMemoryBytes }) => peakMemoryBytes)) / 1e6;
  return withGoal({ case: subject, metric: 'peak memory of an instance', value, unit: 'MB' }, '<=', memoryMegabytesMax);
}
