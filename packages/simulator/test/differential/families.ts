import type { Family } from './case.js';
import { reads } from './family/reads.js';

/** All families, those that the engine uses first. */
export const families: readonly Family[] = [reads];
