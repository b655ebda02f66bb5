import { writeFileSync } from 'node:fs';

/** Enough of a message for the seed and the path of a property that failed. */
const failureCharsMax = 2_000;

/** A vitest reporter that writes `{passed, failed, failures: [names and messages], skipped: [names]}` to the file that CONVOY_TEST_COUNTS names. */
export default class CountingReporter {
  /**
   * Files that cannot be loaded and errors outside of tests count as failures.
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: 0, failures: [], skipped: [] };
    fail(counts, 'outside of tests', unhandledErrors);
    for (const module of modules) {
      fail(counts, module.relativeModuleId, module.errors());
      for (const suite of module.children.allSuites()) fail(counts, nameOf(module, suite), suite.errors());
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === 'passed') counts.passed += 1;
        else if (state === 'failed') fail(counts, nameOf(module, test), [errors?.[0] ?? new Error('no message')]);
        else counts.skipped.push(nameOf(module, test));
      }
    }
    writeFileSync(process.env.CONVOY_TEST_COUNTS, JSON.stringify(counts));
  }
}

function nameOf(module, task) {
  return `${module.relativeModuleId} > ${task.fullName}`;
}

function fail(counts, name, errors) {
  for (const error of errors) {
    counts.failed += 1;
    counts.failures.push(`${name}: ${String(error.message).slice(0, failureCharsMax)}`);
  }
}
