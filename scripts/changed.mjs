import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { importersOf, reachedFrom } from './import-graph.mjs';
import { root } from './process.mjs';

const isModule = /\.(ts|mts|mjs|js)$/;
const isTest = /\.test\.ts$/;
const isUnitTest = /^(packages\/[^/]+\/test\/unit|test)\//;
/** A change of these files runs all tests. */
const ofAll = /^(package(-lock)?\.json|vitest\.config\.ts|tsconfig[^/]*\.json|test\/(setup|seed)\.ts)$/;

/**
 * Tests and files that the changes since a commit can affect, committed or not.
 * @param {string} since
 * @param {boolean} all with the tests of all levels; otherwise those of integration and end-to-end tests that were
 * changed themselves
 * @returns {{ tests: string[], left: number, linted: string[] }} test files to run, how many more the changes can
 * touch, and what the linter has to see
 */
export function touchedBy(since, all) {
  const changed = git('diff', '--name-only', '-z', since)
    .concat(git('ls-files', '--others', '--exclude-standard', '-z'))
    .filter((path) => existsSync(join(root, path)));
  const files = [...new Set(git('ls-files', '-z').concat(changed))].filter((path) => existsSync(join(root, path)));
  const everyTest = files.filter((path) => isTest.test(path));
  const touched = changed.some((path) => ofAll.test(path)) ? everyTest : testsTouched(changed, files, everyTest);
  const tests = touched.filter((path) => all || isUnitTest.test(path) || changed.includes(path));
  return { tests, left: touched.length - tests.length, linted: changed.filter((path) => isModule.test(path)) };
}

function testsTouched(changed, files, everyTest) {
  const reached = reachedFrom(changed, importersOf(files));
  const ofData = changed.filter((path) => !isModule.test(path)).flatMap((path) => readersOf(path, everyTest));
  // Those of the repository itself read all of it.
  const ofRepository = everyTest.filter((path) => path.startsWith('test/'));
  return [
    ...new Set([
      ...everyTest.filter((path) => reached.has(path)),
      ...ofData,
      ...(changed.length > 0 ? ofRepository : []),
    ]),
  ];
}

/** Readers of a file that is no module: the unit tests of its package. */
function readersOf(path, everyTest) {
  const [, folder] = /^(packages\/[^/]+\/)/.exec(path) ?? [];
  return folder === undefined ? [] : everyTest.filter((test) => test.startsWith(`${folder}test/unit/`));
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
    .toString()
    .split('\0')
    .filter(Boolean);
}
