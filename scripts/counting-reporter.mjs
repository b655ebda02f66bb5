import { writeFileSync } from 'node:fs';

/** A vitest reporter that writes `{passed, failed, skipped: [names]}` to the file that CONVOY_TEST_COUNTS names. */
export default class CountingReporter {
  /**
   * Files that cannot be loaded and errors outside of tests count as failures.
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      counts.failed += module.errors().length;
      for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') counts.passed += 1;
        else if (state === 'failed') counts.failed += 1;
        else counts.skipped.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    writeFileSync(process.env.CONVOY_TEST_COUNTS, JSON.stringify(counts));
  }
}
