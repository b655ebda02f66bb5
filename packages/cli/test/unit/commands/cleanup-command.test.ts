import { expect, it } from 'vitest';
import { cleanupLines } from '../../../src/commands/cleanup-command.js';

const run = () => Promise.resolve();

it('reports that there is nothing to do', () => {
  expect(cleanupLines({ found: null, steps: [], remarks: [] })).toEqual(['There is nothing to clean up.']);
});

it('lists the findings, the steps in order, and what stays', () => {
  const steps = [
    { description: 'Do this.', run },
    { description: 'Do that.', run },
  ];
  expect(cleanupLines({ found: 'A migration.', steps, remarks: ['Something stays.'] })).toEqual([
    'A migration.',
    '',
    'A cleanup will:',
    '  1. Do this.',
    '  2. Do that.',
    '',
    'Something stays.',
    '',
  ]);
});
