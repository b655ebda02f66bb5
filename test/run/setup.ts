import fc from 'fast-check';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { beginPatience, endPatience } from '../patience.js';
import { processLogs } from '../process-logs.js';
import { testSeed } from '../seed.js';

declare module 'vitest' {
  /** What the report of a failed test contains: see scripts/failure-story.mjs. */
  interface TaskMeta {
    seed?: number;
    /** The folder with the logs of its processes. */
    logs?: string;
  }
}

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: testSeed });

/** Only whole fleets may take longer than this. */
const limit_ms = 240_000;
if (expect.getState().testPath?.includes('/e2e/') === true) vi.resetConfig();
else vi.setConfig({ testTimeout: limit_ms, hookTimeout: limit_ms });

beforeEach(({ task }) => {
  task.meta.seed = testSeed;
  beginPatience(task.timeout);
  processLogs.clear();
});

// Hooks of a file run before this one: all its servers are closed and have logged everything.
afterEach(({ task }) => {
  endPatience();
  const logs = task.result?.state === 'fail' ? processLogs.keep() : undefined;
  if (logs !== undefined) task.meta.logs = logs;
});
