import type { Family } from './case.js';
import { reads } from './family/reads.js';
import { streams } from './family/streams.js';
import { pipelineUpdates, updates, writes } from './family/writes.js';

/** All families, those that the engine uses first. */
export const families: readonly Family[] = [reads, writes, updates, pipelineUpdates, streams];
