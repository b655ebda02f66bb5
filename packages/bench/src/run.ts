import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { Command, InvalidArgumentError } from 'commander';
import { exitCodes } from '@convoy/cli/commands/exit-code';
import { interruption } from '@convoy/cli/commands/interruption';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { hotBenchmark } from './apply/hot.js';
import type { Benchmark, Row } from './benchmark.js';
import { copyChunksBenchmark } from './copy/copy-chunks.js';
import { cutOverBenchmark } from './cutover/cutover.js';
import { dashboardBenchmark } from './dashboard/dashboard.js';
import { copyCollectionsBenchmark } from './peer/collections-part.js';
import { peerBenchmark } from './peer/peer.js';
import { scaleBenchmark } from './scale/scale.js';
import { simulatorBenchmark } from './simulator/simulator.js';
import { verifyBenchmark } from './verify/verify.js';

/** Content of the `--json` file. */
interface BenchmarkReport {
  benchmark: string;
  /** Commit of the sources, with `+changes` for a modified tree; `unknown` outside a repository. */
  commit: string;
  machine: string;
  rows: Row[];
}

function reportOf(benchmark: string, rows: Row[]): BenchmarkReport {
  return { benchmark, commit: commit(), machine: machine(), rows };
}

/** The report as JSON, a row on each line. */
function reportText({ rows, ...run }: BenchmarkReport): string {
  const head = JSON.stringify(run, null, 2).slice(0, -'\n}'.length);
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`);
  return `${head},\n  "rows": [\n${lines.join(',\n')}\n  ]\n}\n`;
}

/** The rows as a text table. */
function tableLines({ benchmark, commit: revision, machine: where, rows }: BenchmarkReport): string[] {
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

const benchmarks: readonly Benchmark[] = [
  peerBenchmark,
  copyCollectionsBenchmark,
  copyChunksBenchmark,
  hotBenchmark,
  cutOverBenchmark,
  scaleBenchmark,
  simulatorBenchmark,
  verifyBenchmark,
  dashboardBenchmark,
];

const program = new Command('bench')
  .description(
    [
      'Runs a benchmark and prints its results.',
      ...benchmarks.map(({ name, description, parts }) => `  ${name}: ${description}${partsText(parts)}`),
    ].join('\n'),
  )
  .argument('<name>', 'name of the benchmark', (name) => {
    const found = benchmarks.find((benchmark) => benchmark.name === name);
    if (found === undefined)
      throw new InvalidArgumentError(
        `The benchmarks are: ${benchmarks.map((benchmark) => benchmark.name).join(', ')}.`,
      );
    return found;
  })
  .option('--json <file>', 'also write the results to this file')
  .option('--scale <factor>', 'size of the run, 1 as published', Number, 1)
  .option('--parts <names>', 'only these parts of the benchmark, separated by commas', (names) => names.split(','))
  .action(async (benchmark: Benchmark, options: { json?: string; scale: number; parts?: string[] }) => {
    const unknown = options.parts?.find((part) => !benchmark.parts?.includes(part));
    if (unknown !== undefined)
      program.error(
        `${benchmark.name} has no part ${unknown}. Its parts are: ${benchmark.parts?.join(', ') ?? 'none'}.`,
      );
    const parts = options.parts && { parts: new Set(options.parts) };
    using folder = ScratchFolder.create('bench');
    const signal = interruption();
    try {
      const log = (text: string) => console.error(text);
      const rows = await benchmark.run({ folder, scale: options.scale, log, signal, ...parts });
      const report = reportOf(benchmark.name, rows);
      console.log(tableLines(report).join('\n'));
      if (options.json !== undefined) writeFileSync(options.json, reportText(report));
    } catch (error) {
      if (!signal.aborted) throw error;
      process.exitCode = exitCodes.interrupted;
    }
  });

await program.parseAsync();

function partsText(parts: readonly string[] = []): string {
  return parts.length === 0 ? '' : `; parts: ${parts.join(', ')}`;
}
