import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { compiledModule, compiledPath } from './test/run/compiled-sources.js';
import { MixedOrder } from './test/run/mixed-order.js';

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
const polling = { poll: { timeout: 120_000, interval: 200 } };

const cores = availableParallelism();

/** The bound of processes on large machines; each needs half a gigabyte at most. */
const waitingWorkersMax = 16;

/** Tests wait for more than half of their time, unless real servers take it; each process more warms up all code. */
const hasRealServers = Object.keys(process.env).some((name) => /^MONGO_(BIN|IMAGE)(_|$)/.test(name));
const waitingWorkers = hasRealServers ? cores : Math.min(Math.ceil(2.5 * cores), waitingWorkersMax);

/**
 * A process runs one file after the other without loading and warming up the sources anew: no test replaces modules, or
 * leaves anything behind.
 */
const isolate = false;

/** Gives random cases their seed, and failures the contents of their report. */
const setupFiles = [`${root}test/run/setup.ts`];

const unitTests = ['packages/*/test/unit/**/*.test.ts', 'test/**/*.test.ts'];
const clusterTests = ['packages/*/test/integration/**/*.test.ts', 'e2e/**/*.test.ts'];

/** Of whole fleets; `test/run/setup.ts` has the limits of other tests. */
const fleetLimit_ms = 300_000;

const project = (name: string, include: string[], maxWorkers: number, groupOrder: number) => ({
  resolve: resolution,
  plugins,
  test: {
    name,
    include,
    maxWorkers,
    sequence: { groupOrder },
    server,
    isolate,
    setupFiles,
    expect: polling,
    testTimeout: fleetLimit_ms,
    hookTimeout: fleetLimit_ms,
    // Only files that changed since the last run are transformed; all of them take a core twenty seconds.
    experimental: { fsModuleCache: true, fsModuleCachePath: `${root}.cache/transformed` },
  },
});

/** In a whole run unit tests compute while others wait. A run of a part has the unit tests first. */
const projects =
  process.env['CONVOY_TEST_TOGETHER'] === '1'
    ? [project('all', [...unitTests, ...clusterTests], waitingWorkers, 0)]
    : [project('unit', unitTests, cores, 0), project('clusters', clusterTests, waitingWorkers, 1)];

export default defineConfig({
  resolve: resolution,
  test: { sequence: { sequencer: MixedOrder }, projects },
});
