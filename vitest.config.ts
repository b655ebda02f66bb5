import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { compiledModule, compiledPath } from './test/compiled-sources.js';
import { MixedOrder } from './test/mixed-order.js';

const root = fileURLToPath(new URL('.', import.meta.url));

/** `npm test` loads the packages as just compiled, in half the time and as users run them. */
const isCompiled = process.env['CONVOY_TEST_COMPILED'] === '1';

/** Elsewhere tests import the sources, so that no stale build can pass them. */
const sources = {
  alias: [
    { find: /^@convoy\/([a-z]+)\/(?:internal\/)?(.*)$/, replacement: `${root}packages/$1/src/$2.ts` },
    { find: /^@convoy\/([a-z]+)$/, replacement: `${root}packages/$1/src/$1.ts` },
  ],
};
const resolution = isCompiled ? {} : sources;
const plugins = isCompiled
  ? [
      {
        name: 'compiled sources',
        enforce: 'pre' as const,
        resolveId: (source: string, importer?: string) => compiledModule(root, source, importer),
      },
    ]
  : [];
const server = { deps: { external: [compiledPath] } };

/** Conditions take their time on a busy machine; the defaults are a second, and a look every 50 ms. */
const polling = { poll: { timeout: 30_000, interval: 200 } };

const cores = availableParallelism();

/** The bound of processes on large machines; each needs half a gigabyte at most. */
const waitingWorkersMax = 16;

/** A test that waits three times as long as it computes leaves room for three others, unless real servers take it. */
const waitingWorkers = process.env['MONGO_BIN'] ? cores : Math.min(4 * cores, waitingWorkersMax);

/**
 * A process runs one file after the other without loading and warming up the sources anew: no test replaces modules, or
 * leaves anything behind.
 */
const isolate = false;

/** Gives random cases their seed, and failures the contents of their report. */
const setupFiles = [`${root}test/setup.ts`];

export default defineConfig({
  resolve: resolution,
  test: {
    sequence: { sequencer: MixedOrder },
    projects: [
      {
        resolve: resolution,
        plugins,
        test: {
          server,
          name: 'unit',
          include: ['packages/*/test/unit/**/*.test.ts', 'test/**/*.test.ts'],
          isolate,
          setupFiles,
          maxWorkers: cores,
          testTimeout: 30_000,
          expect: polling,
          // Some start clusters and create users, which hashes passwords thousands of times.
          hookTimeout: 60_000,
        },
      },
      {
        resolve: resolution,
        plugins,
        test: {
          server,
          name: 'clusters',
          include: ['packages/*/test/integration/**/*.test.ts', 'e2e/**/*.test.ts'],
          isolate,
          setupFiles,
          testTimeout: 300_000,
          expect: polling,
          hookTimeout: 300_000,
          maxWorkers: waitingWorkers,
          // Behind the unit tests, whose number of workers is another.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
