import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.js';
import { fishCompletion } from '../completion/fish.js';
import { wordsOf, type CompletionWords } from '../completion/words.js';
import { zshCompletion } from '../completion/zsh.js';

const shells: Readonly<Record<string, (words: CompletionWords) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

/** Adds `convoy completion`: prints a script that a shell loads once, so that no key press starts a process. */
export function addCompletionCommand(program: Command): void {
  program
    .command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(Object.keys(shells)))
    .action((shell: string) => {
      process.stdout.write(shells[shell]?.(wordsOf(program)) ?? '');
    });
}
