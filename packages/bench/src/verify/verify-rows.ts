import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
import type { VerifyResult } from './verify-order.js';
import { secondsOf, cpuOf, peakMegabytes } from '../process-usage.js';

/** Required part of the bare loop's throughput. */
const ofBareLoopMin = 0.9;
/** Allowed ratio of the peak memory between numbers of mismatches. */
const memoryGrowthMax = 1.1;

/** The comparisons of documents of one size, in the order of the rounds. */
export interface VerifySize {
  /** For example `1 kB`. */
  name: string;
  /** Of one side. */
  documents: number;
  bytes: number;
  loop: VerifyResult[];
  verifier: VerifyResult[];
}

/** The table of one size: medians of the rounds, the highest peaks, and bytes of both sides together. */
export function verifySizeRows(measured: VerifySize): Row[] {
  const { name, loop, verifier } = measured;
  const row = rowMaker(`${name} verifier`);
  const fraction = median(loop, secondsOf) / median(verifier, secondsOf);
  return [
    ...rowsOf(`${name} bare loop`, measured, loop),
    ...rowsOf(`${name} verifier`, measured, verifier),
    row(
      'catalogs, once',
      median(verifier, ({ catalogs_seconds }) => catalogs_seconds),
      's',
    ),
    row(
      'CPU for catalogs, once',
      median(verifier, ({ catalogsCpu_seconds }) => catalogsCpu_seconds),
      's',
    ),
    withGoal(row('throughput of bare loop', fraction, '×'), '>=', ofBareLoopMin),
  ];
}

function rowsOf(subject: string, { documents, bytes }: VerifySize, results: readonly VerifyResult[]): Row[] {
  const row = rowMaker(subject);
  const seconds = median(results, secondsOf);
  return [
    row('documents compared', documents / seconds, '1/s'),
    row('throughput', (2 * bytes) / 1e6 / seconds, 'MB/s'),
    row('CPU', (median(results, cpuOf) / (2 * bytes)) * 1e9, 's/GB'),
    row('peak memory', peakMegabytes(results), 'MB'),
  ];
}

/** The table of comparisons with different numbers of mismatches. */
export function mismatchRows(results: readonly VerifyResult[]): Row[] {
  const peaks = results.map(({ peakMemoryBytes }) => peakMemoryBytes);
  const growth: Row = rowMaker('mismatches')(
    'peak memory, largest of smallest',
    Math.max(...peaks) / Math.min(...peaks),
    '×',
  );
  return [
    ...results.flatMap(({ mismatches, seconds, peakMemoryBytes }) => {
      const row = rowMaker(`${mismatches} mismatches`);
      return [row('time', seconds, 's'), row('peak memory', peakMemoryBytes / 1e6, 'MB')];
    }),
    withGoal(growth, '<=', memoryGrowthMax),
  ];
}
