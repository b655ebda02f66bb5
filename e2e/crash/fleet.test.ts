import { test } from 'vitest';
import { leaderSteps } from '@convoy/instance/lifecycle/migration/steps';
import { migrateThroughCrashes } from './crashed-migration.js';
import { isFullRun } from '../requirements.js';

const skip = !isFullRun;
const timeout = 580_000;

test.each(['leader', 'all'] as const)(
  'of a fleet, %s killed after each step of beginning, commit and reverse',
  { skip, timeout },
  async (kill) => {
    await migrateThroughCrashes(leaderSteps, kill, true);
  },
);
