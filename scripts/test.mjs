import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { runNode } from './process.mjs';

/**
 * Runs all tests and prints `N passed, N failed` as the last line (and the skipped ones' names before it, when there are any).
 * @param {string[]} args for vitest, for example a file
 * @returns {Promise<number>} exit code: 0 when at least one test ran and none failed
 */
export async function runTests(args) {
  await provideRedis();
  const counts = await runVitest(args);
  printClosing(counts);
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
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
 * @returns {Promise<{ passed: number, failed: number, skipped: string[] }>} a run that ends without counts is one failure
 */
export async function runVitest(args, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'convoy-tests-'));
  const countsFile = join(folder, 'counts.json');
  try {
    const reporters = ['--reporter=default', '--reporter=./scripts/counting-reporter.mjs'];
    const exit = await runNode('node_modules/vitest/vitest.mjs', ['run', '--passWithNoTests', ...reporters, ...args], {
      ...options,
      env: { ...options.env, CONVOY_TEST_COUNTS: countsFile },
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

/** Prints what failed with its messages, the names of skipped tests and the closing line. */
export function printClosing(counts) {
  for (const failure of counts.failures) console.log(`failed: ${failure}`);
  for (const name of counts.skipped) console.log(`skipped: ${name}`);
  console.log(`${counts.passed} passed, ${counts.failed} failed`);
}
