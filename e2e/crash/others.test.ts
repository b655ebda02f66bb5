import { test } from 'vitest';
import { beginningSteps, commitSteps } from '@convoy/instance/lifecycle/migration/steps';
import { migrateThroughCrashes } from './crashed-migration.js';
import { isFullRun } from '../requirements.js';

const skip = !isFullRun;

test.each([...beginningSteps, ...commitSteps])(
  'of a fleet, all but the leader are killed after "%s"',
  { skip, timeout: 200_000 },
  async (step) => {
    await migrateThroughCrashes([step], 'others', true);
  },
);
