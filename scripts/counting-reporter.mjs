import { writeFileSync } from 'node:fs';
import { failureStory } from './failure-story.mjs';

/**
 * A vitest reporter that writes `{passed, failed, failures: [stories], skipped: [names]}` to the file that
 * CONVOY_TEST_COUNTS names.
 */
export default class CountingReporter {
  /**
   * Files that cannot be loaded and errors outside of tests count as failures.
   * @param {ReadonlyArray<import('vitest/node').TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: 0, failures: [], skipped: [] };
    for (const { message } of unhandledErrors) fail(counts, `outside of tests: ${message}`);
    for (const module of modules) {
      const file = module.relativeModuleId;
      for (const { message } of module.errors()) fail(counts, failureStory({ file, message }));
      for (const suite of module.children.allSuites()) {
        for (const { message } of suite.errors()) fail(counts, failureStory({ file, name: suite.fullName, message }));
      }
      for (const test of module.children.allTests()) count(counts, file, test);
    }
    writeFileSync(process.env.CONVOY_TEST_COUNTS, JSON.stringify(counts));
  }
}

/** @param {import('vitest/node').TestCase} test */
function count(counts, file, test) {
  const { state, errors } = test.result();
  if (state === 'passed') counts.passed += 1;
  else if (state === 'failed')
    fail(
      counts,
      failureStory({ file, name: test.fullName, message: errors?.[0]?.message ?? 'no message', meta: test.meta() }),
    );
  else counts.skipped.push(`${file} > ${test.fullName}`);
}

function fail(counts, story) {
  counts.failed += 1;
  counts.failures.push(story);
}
