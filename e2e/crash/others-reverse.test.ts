import { test } from 'vitest';
import { reverseSteps } from '@convoy/instance/lifecycle/migration/steps';
import { needs } from '../requirements.js';
import { migrateThroughCrashes } from './crashed-migration.js';

const { skip } = needs({ version: [6, 0], inFull: true });

test.each(reverseSteps)(
  'of a fleet, all but the leader are killed after "%s" (servers from 6.0)',
  { skip, timeout: 200_000 },
  async (step) => {
    await migrateThroughCrashes([step], 'others', true);
  },
);
