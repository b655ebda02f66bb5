import { type Row, withGoal, rowMaker } from '../benchmark.js';
import { type RunUsage, peakMegabytes } from '../process-usage.js';

/** Promised peak for an instance with the default buffer limit, with or without the verifier. */
const memoryMegabytesMax = 300;

/** The highest peak of an instance in all runs, with its goal. */
export function memoryRow(subject: string, runs: readonly RunUsage[]): Row {
  return withGoal(rowMaker(subject)('peak memory of an instance', peakMegabytes(runs), 'MB'), '<=', memoryMegabytesMax);
}
