import { expect, it } from 'vitest';
import { preflightLines } from '../../../src/progress-view/preflight-lines.js';

it('shows every check with its result as a word, and repeats failed ones at the end', () => {
  const lines = preflightLines({
    canStart: false,
    items: [
      { check: 'clusters', result: 'passed', error: null, description: 'cluster0 to cluster1.' },
      { check: 'destination', result: 'failed', error: 'destinationNotEmpty', description: 'Drop app.c.' },
      { check: 'oplogWindow', result: 'unchecked', error: null, description: 'Not checked.' },
    ],
  });
  expect(lines).toEqual([
    '✓ passed     clusters     cluster0 to cluster1.',
    '✗ failed     destination  destinationNotEmpty: Drop app.c.',
    '? unchecked  oplogWindow  Not checked.',
    '',
    'A migration cannot start: destination.',
  ]);
});

it('reports when all checks passed', () => {
  const lines = preflightLines({
    canStart: true,
    items: [{ check: 'diskSpace', result: 'warning', error: null, description: 'Add space.' }],
  });
  expect(lines).toEqual(['! warning    diskSpace  Add space.', '', 'A migration can start with these options.']);
});
