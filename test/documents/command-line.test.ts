import { expect, test } from 'vitest';
import { exitCodes, exitCodeTexts } from '@convoy/cli/commands/exit-code';
import { convoyCommand } from '@convoy/cli/program';
import { documentTable, plainText } from './document-table.js';

test('docs/reference/command-line.md names every command, in the order of the help', () => {
  const { rows } = documentTable('docs/reference/command-line.md', 'Commands');
  expect(rows.map(([name]) => plainText(name))).toEqual(convoyCommand().commands.map((command) => command.name()));
});

test('docs/reference/command-line.md and the help name every exit code', () => {
  const { rows } = documentTable('docs/reference/command-line.md', 'Exit codes');
  expect(rows).toEqual(Object.entries(exitCodeTexts));
  expect(rows.map(([code]) => Number(code))).toEqual(Object.values(exitCodes));
});

test('docs/reference/command-line.md names the result of --json for every command that has it', () => {
  const { rows } = documentTable('docs/reference/command-line.md', 'JSON');
  const documented = rows.flatMap(([names]) => (names ?? '').split(', ').map(plainText));
  const having = convoyCommand().commands.filter(({ options }) => options.some(({ long }) => long === '--json'));
  expect(documented.sort()).toEqual(having.map((command) => command.name()).sort());
  const without = convoyCommand().commands.filter((command) => !having.some((one) => one.name() === command.name()));
  expect(without.map((command) => command.name())).toEqual(['instance', 'coordinator', 'completion']);
});
