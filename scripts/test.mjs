import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { parseArgs } from 'node:util';
import { touchedBy } from './changed.mjs';
import { runNode } from './process.mjs';

/**
 * Runs all tests and prints `N passed, N failed` as the last line (and the skipped ones' names before it, when there
 * are any).
 * @param {string[]} args for vitest, for example a file; or `--changed`, and what `runChanged` takes
 * @returns {Promise<number>} exit code: 0 when at least one test ran and none failed
 */
export async function runTests(args) {
  await provideRedis();
  const [first, ...rest] = args;
  const isWhole = args.every((argument) => argument.startsWith('-') && !argument.startsWith('--project'));
  const counts =
    first === '--changed'
      ? await runChanged(rest)
      : await runVitest(args, { env: isWhole ? { CONVOY_TEST_TOGETHER: '1' } : {} });
  printClosing(counts);
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

/**
 * The linter and those tests that changes can touch: unit tests, and whichever other tests were changed themselves.
 * @param {string[]} args a commit from which on changes count, HEAD when there is none; `--all` for the tests of all
 * levels
 */
async function runChanged(args) {
  const { values, positionals } = parseArgs({
    args,
    options: { all: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const { tests, left, linted } = touchedBy(positionals[0] ?? 'HEAD', values.all);
  const counts = { passed: 0, failed: 0, failures: [], skipped: [] };
  if (linted.length > 0) add(counts, await lint(linted));
  if (tests.length > 0) add(counts, await runVitest(tests));
  if (left > 0)
    console.log(`${left} files of integration and end-to-end tests can be touched, too: npm test -- --changed --all`);
  return counts;
}

/**
 * Runs the linter, which counts as one test.
 * @param {string[]} paths
 * @param {{ limit_ms?: number }} [options]
 */
export async function lint(paths, options) {
  return countsOfProgram(
    'the linter',
    await runNode('node_modules/eslint/bin/eslint.js', ['--no-warn-ignored', ...paths], options),
  );
}

/** A program that is no vitest run counts as one test. */
export function countsOfProgram(name, exit) {
  return exit === 0
    ? { passed: 1, failed: 0, failures: [], skipped: [] }
    : { passed: 0, failed: 1, failures: [`${name} ended with ${exit}`], skipped: [] };
}

/** Puts a Redis server on the PATH of the tests where the machine has none. */
export async function provideRedis() {
  const { redisFolder } = await import('../packages/testbed/dist/redis/find-redis.js');
  const folder = await redisFolder();
  if (folder !== undefined) process.env.PATH = `${folder}${delimiter}${process.env.PATH}`;
}

/**
 * One vitest run.
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, limit_ms?: number }} [options]
 * @returns {Promise<{ passed: number, failed: number, skipped: string[] }>} a run that ends without counts is one
 * failure
 */
export async function runVitest(args, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-tests-'));
  const countsFile = join(folder, 'counts.json');
  try {
    const reporters = ['--reporter=default', '--reporter=./scripts/counting-reporter.mjs'];
    const exit = await runNode('node_modules/vitest/vitest.mjs', ['run', '--passWithNoTests', ...reporters, ...args], {
      ...options,
      env: { ...options.env, CONVOY_TEST_COUNTS: countsFile, CONVOY_TEST_COMPILED: '1' },
    });
    const counts = readCounts(countsFile);
    if (exit !== 0 && counts.failed === 0) {
      counts.failed = 1;
      counts.failures.push(`vitest ended with ${exit} (${args.join(' ')})`);
    }
    return counts;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function readCounts(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: 1, failures: ['a test run ended without counts'], skipped: [] };
  }
}

/** Adds the second counts to the first. */
export function add(counts, more) {
  counts.passed += more.passed;
  counts.failed += more.failed;
  counts.failures.push(...more.failures);
  counts.skipped.push(...more.skipped);
}

/**
 * Prints the names of skipped tests, what failed with its messages, and the closing line. Failures come last, since
 * whoever shows a part of a log shows its end.
 */
export function printClosing(counts) {
  for (const name of counts.skipped) console.log(`skipped: ${name}`);
  for (const failure of counts.failures) console.log(`failed: ${failure}`);
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
}
