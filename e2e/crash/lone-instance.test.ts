import { test } from 'vitest';
import { type LeaderStep, leaderSteps } from '@convoy/instance/lifecycle/migration/steps';
import { drawn } from '../../test/seed.js';
import { migrateThroughCrashes } from './crashed-migration.js';
import { isFullRun } from '../requirements.js';

/** Steps around irreversible ones, in the order of a migration: a usual run draws one of each group. */
const groups: readonly (readonly LeaderStep[])[] = [
  ['balancersRecorded', 'collectionsMade'],
  ['sourceBlocked', 'commitSealed'],
  ['carryPlanned', 'accessCarried'],
  ['openingDecided', 'settingsCarried'],
  ['destinationOpened'],
  ['clustersSwapped', 'attributesDeferred'],
];
const steps = isFullRun ? leaderSteps : groups.flatMap(drawn);
const named = isFullRun ? 'each step of its beginning, its commit and its reverse' : steps.join(', ');

test(`an instance alone is killed after ${named}`, { timeout: 300_000 }, async () => {
  await migrateThroughCrashes(steps, 'all', false);
});
