import { expect, test } from 'vitest';
import { type CommandName, commandNames } from '@convoy/api/contract/commands';
import { type MigrationState, migrationStates } from '@convoy/api/contract/progress';
import { requireState } from '@convoy/instance/lifecycle/commands/fleet-command';
import { migrationPhases } from '@convoy/instance/store/migration-record';
import { documentTable, plainText } from './document-table.js';

function isTaken(command: CommandName, state: MigrationState): boolean {
  try {
    requireState(command, state, '');
    return true;
  } catch {
    return false;
  }
}

test('docs/reference/states.md says of every state which commands are taken', () => {
  const { header, rows } = documentTable('docs/reference/states.md', 'Commands by state');
  expect(header.map(plainText)).toEqual(['State', ...commandNames]);
  const expected = migrationStates.map((state) => [
    state,
    ...commandNames.map((command) => (isTaken(command, state) ? 'taken' : 'refused')),
  ]);
  expect(rows).toEqual(expected);
});

test('docs/reference/states.md explains every state and every phase, in order', () => {
  expect(documentTable('docs/reference/states.md', 'What each state means').rows.map(([state]) => state)).toEqual([
    ...migrationStates,
  ]);
  expect(
    documentTable('docs/reference/states.md', 'From start to COMMITTED').rows.map(([phase]) => plainText(phase)),
  ).toEqual([...migrationPhases]);
});
