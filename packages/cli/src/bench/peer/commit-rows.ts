import { median, type Row, withGoal, rowMaker } from '../benchmark.js';
import { clusterSyncName } from './cluster-sync.js';

/** Allowed time in which users cannot write, verified. */
const writableMax_seconds = 0.6;

/** One commit. */
export interface CommitMeasured {
  /** From the end of the last write until users may write to the destination. */
  writable_seconds: number;
  writtenPerSecond: number;
  /** Acknowledged writes that the destination lacks. */
  missing: number;
}

/** The commits of each tool by its name: medians of the times, and the sum of missing writes. */
export function commitRows(tools: ReadonlyMap<string, readonly CommitMeasured[]>): Row[] {
  return [...tools].flatMap(([tool, runs]) => {
    if (runs.length === 0) return [];
    const row = rowMaker(`commit ${tool}`);
    const rate = median(runs, ({ writtenPerSecond }) => writtenPerSecond);
    const writable = row('last write to writable', median(runs, secondsOf), 's');
    const slowest = row('last write to writable, slowest', Math.max(...runs.map(secondsOf)), 's');
    const missing = row(
      'missing writes',
      runs.reduce((sum, one) => sum + one.missing, 0),
      '',
    );
    if (tool === clusterSyncName) return [row('writes before', rate, '1/s'), writable, slowest, missing];
    return [
      row('writes before', rate, '1/s'),
      withGoal(writable, '<=', writableMax_seconds),
      slowest,
      withGoal(missing, '<=', 0),
    ];
  });
}

const secondsOf = ({ writable_seconds }: CommitMeasured): number => writable_seconds;
