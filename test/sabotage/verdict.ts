import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedTest } from './hazard.js';

/** The result of each named test in one run. */
export type TestResult = 'passed' | 'failed' | 'notRun';

export interface TestRun {
  results: Map<NamedTest, TestResult>;
  /** The run was killed, because something waited for ever. */
  hung: boolean;
}

/** A test that hangs ends by its own limit before this. */
const runLimit_ms = 170_000;

interface Report {
  testResults: { name: string; assertionResults: { title: string; status: string }[] }[];
}

/** Runs the named tests, and no others, in a copy of the repository. */
export async function runTests(folder: string, tests: readonly NamedTest[]): Promise<TestRun> {
  const output = join(folder, 'sabotage-report.json');
  rmSync(output, { force: true });
  const files = [...new Set(tests.map(({ file }) => file))];
  const titles = tests.map(({ title }) => patternOf(title)).join('|');
  const hung = await vitest(folder, [...files, '-t', titles, '--reporter=json', `--outputFile=${output}`]);
  const report = readReport(output);
  return { results: new Map(tests.map((test) => [test, resultOf(test, report, folder)])), hung };
}

/** A title's placeholders (`%s`, `$name`) stand for anything. */
function patternOf(title: string): string {
  return title
    .split(/%[sdifjoO#]|\$[\w.]+/)
    .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('.*');
}

/** @returns whether it had to be killed */
function vitest(folder: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // A group of its own: workers in an endless loop do not notice that their parent is gone.
    const child = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
      cwd: folder,
      stdio: 'ignore',
      detached: true,
      env: { ...process.env, CONVOY_TEST_VARIANTS: 'all' },
    });
    const kill = (): void => {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    };
    process.once('exit', kill);
    let hung = false;
    const limit = setTimeout(() => {
      hung = true;
      kill();
    }, runLimit_ms);
    child.on('error', reject);
    child.on('exit', () => {
      clearTimeout(limit);
      process.off('exit', kill);
      resolve(hung);
    });
  });
}

function readReport(output: string): Report {
  try {
    return JSON.parse(readFileSync(output, 'utf8')) as Report;
  } catch {
    return { testResults: [] };
  }
}

/** A file that could not be loaded has no results, so it has noticed nothing. */
function resultOf({ file, title }: NamedTest, report: Report, folder: string): TestResult {
  const pattern = new RegExp(`^${patternOf(title)}$`);
  const ofFile = report.testResults.filter(({ name }) => name.endsWith(`/${file}`) && name.startsWith(folder));
  const statuses = ofFile
    .flatMap(({ assertionResults }) => assertionResults)
    .filter((one) => pattern.test(one.title))
    .map(({ status }) => status);
  if (statuses.includes('failed')) return 'failed';
  return statuses.includes('passed') ? 'passed' : 'notRun';
}
