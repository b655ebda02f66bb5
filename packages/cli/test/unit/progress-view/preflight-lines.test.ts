import type { Inventory } from '@convoy/api/contract/inventory';
import { expect, it } from 'vitest';
import { inventoryLines, preflightLines } from '../../../src/progress-view/preflight-lines.js';

it('shows every check with its result as a word, failed ones first and again at the end', () => {
  const lines = preflightLines({
    canStart: false,
    items: [
      { check: 'clusters', result: 'passed', error: null, description: 'cluster0 to cluster1.' },
      { check: 'destination', result: 'failed', error: 'destinationNotEmpty', description: 'Drop app.c.' },
      { check: 'oplogWindow', result: 'unchecked', error: null, description: 'Not checked.' },
    ],
  });
  expect(lines).toEqual([
    '✗ failed     destination  destinationNotEmpty: Drop app.c.',
    '',
    '? unchecked  oplogWindow  Not checked.',
    '',
    '✓ passed     clusters     cluster0 to cluster1.',
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

it('lists the names that a check counts only when asked, and otherwise says how to see them', () => {
  const names = ['one', 'two', 'three'];
  const report = {
    canStart: true,
    items: [
      { check: 'recordedReleases', result: 'unchecked', error: null, description: '3 probes.', names },
      { check: 'diskSpace', result: 'warning', error: null, description: 'Add space.' },
    ],
  } as const;
  const closing = 'A migration can start with these options; read the warnings first: diskSpace.';
  const warned = ['! warning    diskSpace         Add space.', ''];
  expect(preflightLines(report)).toEqual([
    ...warned,
    '? unchecked  recordedReleases  3 probes.',
    '',
    '--verbose lists the names of: recordedReleases.',
    closing,
  ]);
  expect(preflightLines(report, { verbose: true })).toEqual([
    ...warned,
    '? unchecked  recordedReleases  3 probes.',
    ...names.map((name) => `  ${name}`),
    '',
    closing,
  ]);
});

it('shows what the clusters have besides data, with what to do; verbose shows also what needs nothing', () => {
  const row = { kind: 'users', source: 'roles desk@shop', destination: null } as const;
  const inventory = {
    at_ms: 0,
    source: 'cluster0',
    destination: 'cluster1',
    carry: [],
    rows: [
      { ...row, name: 'a@shop', action: 'leftBehind', description: 'It stays behind: create them.' },
      { ...row, name: 'b@shop', action: 'differs', description: 'The destination has another one.' },
      { ...row, name: 'c@shop', action: 'equal', description: 'Nothing: both clusters have it.' },
    ],
    unlisted: 0,
    reverse: null,
  } satisfies Inventory;
  expect(inventoryLines(inventory)).toEqual([
    'Besides data: ▲ 1 left behind, 1 different.',
    'What   Name    On cluster0      On cluster1  What Convoy does',
    'Users  a@shop  roles desk@shop  –            left behind',
    '  It stays behind: create them.',
    'Users  b@shop  roles desk@shop  –            differs',
    '  The destination has another one.',
    '',
  ]);
  expect(inventoryLines(inventory, { verbose: true })).toContain(
    'Users  c@shop  roles desk@shop  –            on both',
  );
  expect(inventoryLines(null)).toEqual([]);
});
