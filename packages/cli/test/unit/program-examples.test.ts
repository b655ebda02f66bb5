import { expect, test } from 'vitest';
import { convoyCommand } from '@convoy/cli/program';

const names = convoyCommand().commands.map((command) => command.name());

/** The examples at the end of a command's help. */
function examplesOf(name: string): string[] {
  let help = '';
  const command = convoyCommand().commands.find((one) => one.name() === name);
  command?.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return (help.split('\nExamples:\n')[1] ?? '').trimEnd().split('\n');
}

test.each(names)('the help of %s ends with examples that can be parsed', async (name) => {
  const examples = examplesOf(name);
  expect(examples.length).toBeGreaterThanOrEqual(1);
  expect(examples.length).toBeLessThanOrEqual(3);
  for (const example of examples) {
    expect(example.length).toBeLessThanOrEqual(100);
    const words = /convoy ([^)|]+)/.exec(example)?.[1]?.trim().split(/\s+/) ?? [];
    const program = convoyCommand();
    let ran = '';
    for (const command of program.commands) command.action(() => void (ran = command.name()));
    await program.parseAsync(words, { from: 'user' });
    expect(ran).toBe(name);
  }
});
