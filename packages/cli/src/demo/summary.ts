import { formatBytes, formatCount } from '../progress-view/quantity.js';
import type { Comparison } from './compare.js';
import type { MigrationFigures } from './migration.js';
import type { WorkloadCounts } from './workload.js';

/** Everything that the summary tells. */
export interface DemoFigures {
  setUp_seconds: number;
  loading_seconds: number;
  copy_seconds: number;
  /** From the end of the copy until the workload was stopped. */
  apply_seconds: number;
  /** From the last write on the source until the destination takes writes. */
  cutOver_seconds: number;
  comparing_seconds: number;
  migration: MigrationFigures;
  workload: WorkloadCounts | undefined;
  comparison: Comparison;
}

/** The summary as lines of text. */
export function summaryLines(figures: DemoFigures): string[] {
  const { migration, workload, comparison } = figures;
  const rows: [string, string][] = [
    ['set-up', seconds(figures.setUp_seconds)],
    ['loading', seconds(figures.loading_seconds)],
    ['copy', `${seconds(figures.copy_seconds)}, ${formatBytes(migration.copiedBytes)}, ${formatBytes(migration.copiedBytes / Math.max(figures.copy_seconds, 0.001))}/s`],
    ['change events', `${formatCount(migration.eventsApplied)} applied, ${seconds(figures.apply_seconds)} after the copy, longest lag ${migration.lagMax_seconds} s`],
    ['cut-over', `${seconds(figures.cutOver_seconds)} from the last write on the source to the first on the destination`],
  ];
  if (workload) rows.push(['workload', workloadText(workload)]);
  rows.push(['compared', `${formatCount(comparison.documents)} documents, ${formatBytes(comparison.bytes)} in ${comparison.collections} collections, ${seconds(figures.comparing_seconds)}: ${comparison.equal ? 'equal' : 'DIFFERENT'}`]);
  return [...rows.map(([name, text]) => `  ${name.padEnd(14)} ${text}`), ...comparison.differences.map((difference) => `  - ${difference}`)];
}

function workloadText({ inserts, updates, replacements, deletes }: WorkloadCounts): string {
  return `${formatCount(inserts)} inserts, ${formatCount(updates)} updates, ${formatCount(replacements)} replacements, ${formatCount(deletes)} deletes`;
}

function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
