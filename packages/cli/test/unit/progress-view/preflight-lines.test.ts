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
    items: [{ check: 'diskSpace', result: 'passed', error: null, description: 'Enough.' }],
  });
  expect(lines).toEqual(['✓ passed     diskSpace  Enough.', '', 'A migration can start with these options.']);
});

it('names the warnings before a start, such as a filter that matches nothing', () => {
  const lines = preflightLines({
    canStart: true,
    items: [
      { check: 'matched', result: 'warning', error: null, description: 'Nothing matches nothere.' },
      { check: 'diskSpace', result: 'warning', error: null, description: 'Add space.' },
    ],
  });
  expect(lines.at(-1)).toBe('A migration can start with these options; read the warnings first: matched, diskSpace.');
});
