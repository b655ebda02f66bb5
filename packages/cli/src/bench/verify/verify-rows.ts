import { median, type Row, withGoal } from '../benchmark.js';
import type { VerifyResult } from './verify-order.js';

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
  const fraction = median(loop, secondsOf) / median(verifier, secondsOf);
  return [
    ...rowsOf(`${name} bare loop`, measured, loop),
    ...rowsOf(`${name} verifier`, measured, verifier),
    {
      case: `${name} verifier`,
      metric: 'catalogs, once',
      value: median(verifier, ({ catalogs_seconds }) => catalogs_seconds),
      unit: 's',
    },
    {
      case: `${name} verifier`,
      metric: 'CPU for catalogs, once',
      value: median(verifier, ({ catalogsCpu_seconds }) => catalogsCpu_seconds),
      unit: 's',
    },
    withGoal(
      { case: `${name} verifier`, metric: 'throughput of bare loop', value: fraction, unit: '×' },
      '>=',
      ofBareLoopMin,
    ),
  ];
}

function rowsOf(subject: string, { documents, bytes }: VerifySize, results: readonly VerifyResult[]): Row[] {
  const seconds = median(results, secondsOf);
  return [
    { case: subject, metric: 'documents compared', value: documents / seconds, unit: '1/s' },
    { case: subject, metric: 'throughput', value: (2 * bytes) / 1e6 / seconds, unit: 'MB/s' },
    {
      case: subject,
      metric: 'CPU',
      value: (median(results, ({ cpu_seconds }) => cpu_seconds) / (2 * bytes)) * 1e9,
      unit: 's/GB',
    },
    { case: subject, metric: 'peak memory', value: peak(results) / 1e6, unit: 'MB' },
  ];
}

const secondsOf = ({ seconds }: VerifyResult): number => seconds;

function peak(results: readonly VerifyResult[]): number {
  return Math.max(...results.map(({ peakMemoryBytes }) => peakMemoryBytes));
}

/** The table of comparisons with different numbers of mismatches. */
export function mismatchRows(results: readonly VerifyResult[]): Row[] {
  const peaks = results.map(({ peakMemoryBytes }) => peakMemoryBytes);
  const growth: Row = {
    case: 'mismatches',
    metric: 'peak memory, largest of smallest',
    value: Math.max(...peaks) / Math.min(...peaks),
    unit: '×',
  };
  return [
    ...results.flatMap(({ mismatches, seconds, peakMemoryBytes }): Row[] => [
      { case: `${mismatches} mismatches`, metric: 'time', value: seconds, unit: 's' },
      { case: `${mismatches} mismatches`, metric: 'peak memory', value: peakMemoryBytes / 1e6, unit: 'MB' },
    ]),
    withGoal(growth, '<=', memoryGrowthMax),
  ];
}
