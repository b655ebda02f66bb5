import { expect, test } from 'vitest';
import { type CommandName, commandNames } from '@convoy/api/contract/commands';
import { commitStepNames } from '@convoy/api/contract/current-step';
import { type MigrationState, migrationStates } from '@convoy/api/contract/progress';
import { requireState } from '@convoy/instance/lifecycle/instance/fleet-command';
import { commitTable } from '@convoy/instance/lifecycle/migration/steps';
import { migrationPhases } from '@convoy/instance/store/migration-record';
import { stateRules } from '@convoy/instance/store/state-rules';
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

test('docs/internals/4-states.md shows a commit as the code has it, and as the API names its steps', () => {
  const { rows } = documentTable('docs/internals/4-states.md', 'A commit, in each vocabulary');
  expect(rows.map((row) => row.slice(0, 3).map((cell) => cell.replaceAll('`', '')))).toEqual(
    commitTable.map(({ shown, phase, steps }) => [shown, phase, steps.join(', ')]),
  );
  expect(commitTable.map(({ shown }) => shown)).toEqual([...commitStepNames]);
  const phases = commitTable.map(({ phase }) => migrationPhases.indexOf(phase));
  expect(phases).toEqual(phases.toSorted());
});

test('docs/internals/4-states.md has every rule of the state, in its words', () => {
  const { rows } = documentTable('docs/internals/4-states.md', 'What always holds');
  expect(rows.map((row) => row.map(plainText))).toEqual(Object.entries(stateRules));
});
