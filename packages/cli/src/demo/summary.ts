import { bytesText, countText } from '@convoy/coordinator/dashboard/views/quantity';
import type { Comparison } from './compare.js';
import type { MigrationStats } from './migration.js';
import type { ReverseStats } from './reverse.js';
import type { WorkloadCounts } from './workload.js';

/** Data of the summary. */
export interface DemoStats {
  setUp_seconds: number;
  loading_seconds: number;
  copy_seconds: number;
  /** From the end of the copy until the workload stopped. */
  apply_seconds: number;
  /** From the last write on the source until the destination accepts writes. */
  cutOver_seconds: number;
  comparing_seconds: number;
  migration: MigrationStats;
  workload: WorkloadCounts | undefined;
  /** Undefined without a way back. */
  reverse: ReverseStats | undefined;
  comparison: Comparison;
}

/** The summary as lines of text. */
export function summaryLines(stats: DemoStats): string[] {
  const { migration, workload, comparison } = stats;
  const rows: [string, string][] = [
    ['set-up', seconds(stats.setUp_seconds)],
    ['loading', seconds(stats.loading_seconds)],
    [
      'copy',
      `${seconds(stats.copy_seconds)}, ${bytesText(migration.copiedBytes)}, ` +
        `${bytesText(migration.copiedBytes / Math.max(stats.copy_seconds, 0.001))}/s`,
    ],
    [
      'change events',
      `${countText(migration.eventsApplied)} applied, ${seconds(stats.apply_seconds)} after the copy, ` +
        `longest lag ${migration.lagMax_seconds} s`,
    ],
    ['cut-over', `${seconds(stats.cutOver_seconds)} from the last write on the source to the first on the destination`],
  ];
  if (workload) rows.push(['workload', workloadText(workload)]);
  if (stats.reverse) rows.push(['reverse', reverseText(stats.reverse)]);
  rows.push([
    'compared',
    `${countText(comparison.documents)} documents, ${bytesText(comparison.bytes)} in ` +
      `${comparison.collections} collections, ${seconds(stats.comparing_seconds)}: ` +
      (comparison.equal ? 'equal' : 'DIFFERENT'),
  ]);
  return [
    ...rows.map(([name, text]) => `  ${name.padEnd(14)} ${text}`),
    ...comparison.differences.map((difference) => `  - ${difference}`),
  ];
}

function workloadText({ inserts, updates, replacements, deletes }: WorkloadCounts): string {
  return (
    `${countText(inserts)} inserts, ${countText(updates)} updates, ${countText(replacements)} ` +
    `replacements, ${countText(deletes)} deletes`
  );
}

function reverseText({ replay_seconds, cutOver_seconds, workload }: ReverseStats): string {
  const times =
    `${seconds(replay_seconds)} until ready to commit, cut-over ${seconds(cutOver_seconds)} ` +
    'back to the first cluster';
  return workload === undefined ? times : `${times}; meanwhile ${workloadText(workload)}`;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
