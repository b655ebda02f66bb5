import fc from 'fast-check';
import { beforeEach } from 'vitest';
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

beforeEach(({ task }) => {
  task.meta.seed = testSeed;
});
