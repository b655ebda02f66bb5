import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { buildIndexesValues } from '@convoy/api/contract/start-request';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { bashCompletion, fishCompletion, wordsOf, zshCompletion } from '../../../src/commands/completion-command.js';
import { convoyCommand } from '../../../src/program.js';

const words = wordsOf(convoyCommand());

/** Whether a shell is available; tests of others are named as skipped. */
function has(shell: string): boolean {
  try {
    execFileSync(shell, ['-c', 'true']);
    return true;
  } catch {
    return false;
  }
}

function run(shell: string, args: readonly string[], script: string): string {
  using folder = ScratchFolder.create('completion');
  const file = folder.file('completion');
  writeFileSync(file, script);
  return execFileSync(shell, [...args, file], { encoding: 'utf8' });
}

describe('words', () => {
  test('are all commands, each with its options and choices', () => {
    expect(words.commands.map(({ name }) => name)).toEqual(convoyCommand().commands.map((command) => command.name()));
    const start = words.commands.find(({ name }) => name === 'start');
    expect(start?.options).toContainEqual(
      expect.objectContaining({ flag: '--build-indexes', takesValue: true, values: [...buildIndexesValues] }),
    );
    expect(words.commands.find(({ name }) => name === 'unblock')?.values).toEqual(['cluster0', 'cluster1']);
  });
});

describe('bash', () => {
  const complete = (...typed: string[]): string[] => {
    const line = ['convoy', ...typed].map((word) => `'${word}'`).join(' ');
    const driver = `COMP_WORDS=(${line}); COMP_CWORD=${typed.length}; _convoy; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return run('bash', ['--norc'], `${bashCompletion(words)}\n${driver}`)
      .split('\n')
      .filter(Boolean);
  };

  test.skipIf(!has('bash'))('completes commands, options and choices (bash)', () => {
    expect(complete('re')).toEqual(['resume', 'reverse', 'report']);
    expect(complete('start', '--enable')).toEqual(['--enable-user-write-blocking']);
    expect(complete('start', '--build-indexes', 'n')).toEqual(['never']);
    expect(complete('unblock', 'cl')).toEqual(['cluster0', 'cluster1']);
  });
});

describe('zsh', () => {
  test.skipIf(!has('zsh'))('loads the script and defines the function (zsh)', () => {
    const script = `autoload -U compinit; compinit -u -D\n${zshCompletion(words)}\nprint -r -- $_comps[convoy]`;
    expect(run('zsh', ['-f'], script).trim()).toBe('_convoy');
  });
});

describe('fish', () => {
  test.skipIf(!has('fish'))('completes commands, options and choices (fish)', () => {
    const script =
      `${fishCompletion(words)}\ncomplete -C 'convoy re'\ncomplete -C 'convoy start --build-indexes ` +
      `n'\ncomplete -C 'convoy unblock cl'`;
    const lines = run('fish', ['--no-config'], script)
      .split('\n')
      .map((line) => line.split('\t')[0])
      .filter(Boolean);
    expect(lines).toEqual(['resume', 'reverse', 'report', 'never', 'cluster0', 'cluster1']);
  });
});
