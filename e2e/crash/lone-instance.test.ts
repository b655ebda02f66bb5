import { test } from 'vitest';
import { type LeaderStep, leaderSteps } from '@convoy/instance/lifecycle/migration/steps';
import { migrateThroughCrashes } from './crashed-migration.js';
import { isFullRun } from '../requirements.js';

/** The steps around irreversible ones; with CONVOY_TEST_FULL=1 every step. */
const sample: readonly LeaderStep[] = [
  'balancersRecorded',
  'collectionsMade',
  'sourceClosed',
  'commitSealed',
  'openingDecided',
  'destinationOpened',
  'clustersSwapped',
  'attributesDeferred',
];
const steps = isFullRun ? leaderSteps : sample;

test(
  'an instance alone is killed after each step of its beginning, its commit and its reverse',
  { timeout: 300_000 },
  async () => {
    await migrateThroughCrashes(steps, 'all', false);
  },
);
