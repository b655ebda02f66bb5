import { expect, test } from 'vitest';
import { exitCodes, exitCodeTexts } from '@convoy/cli/commands/exit-code';
import { convoyCommand } from '@convoy/cli/program';
import { documentTable, plainText } from './document-table.js';

test('docs/command-line.md names every command, in the order of the help', () => {
  const { rows } = documentTable('docs/command-line.md', 'Commands');
  expect(rows.map(([name]) => plainText(name))).toEqual(convoyCommand().commands.map((command) => command.name()));
});

test('docs/command-line.md and the help name every exit code', () => {
  const { rows } = documentTable('docs/command-line.md', 'Exit codes');
  expect(rows).toEqual(Object.entries(exitCodeTexts));
  expect(rows.map(([code]) => Number(code))).toEqual(Object.values(exitCodes));
});
