import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import type { Row } from './benchmark.js';

/** Content of the `--json` file. */
export interface BenchmarkReport {
  benchmark: string;
  /** Commit of the sources, with `+changes` for a modified tree; `unknown` outside a repository. */
  commit: string;
  machine: string;
  rows: Row[];
}

export function reportOf(benchmark: string, rows: Row[]): BenchmarkReport {
  return { benchmark, commit: commit(), machine: machine(), rows };
}

/** The rows as a text table. */
export function tableLines({ benchmark, commit: revision, machine: where, rows }: BenchmarkReport): string[] {
  const cells = rows.map((row) => [
    row.case,
    row.metric,
    formatValue(row.value),
    row.unit,
    row.goal === undefined ? '' : `${row.goal} ${row.met ? 'met' : 'MISSED'}`,
  ]);
  const table = [['case', 'metric', 'value', 'unit', 'goal'], ...cells];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const aligned = (row: string[]) =>
    row
      .map((cell, column) => (column === 2 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [`${benchmark} at ${revision} on ${where}`, ...table.map(aligned)];
}

function formatValue(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

function commit(): string {
  try {
    const git = (...args: string[]) =>
      execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') === '' ? '' : '+changes');
  } catch {
    return 'unknown';
  }
}

function machine(): string {
  const [first] = cpus();
  return (
    `${cpus().length} × ${first?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} ` +
    `GiB, Node.js ${process.versions.node}`
  );
}
