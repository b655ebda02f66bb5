import fc from 'fast-check';
import { beforeEach, expect, vi } from 'vitest';
import { testSeed } from './seed.js';

declare module 'vitest' {
  /** What the report of a failed test tells of it: see scripts/failure-story.mjs. */
  interface TaskMeta {
    seed?: number;
    /** The folder with the logs of its processes. */
    logs?: string;
  }
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: testSeed });

/** Only whole fleets may take longer than this. */
const integrationLimit_ms = 120_000;
if (expect.getState().testPath?.includes('/test/integration/') === true) vi.setConfig({ testTimeout: integrationLimit_ms, hookTimeout: integrationLimit_ms });
else vi.resetConfig();

beforeEach(({ task }) => {
  task.meta.seed = testSeed;
});
