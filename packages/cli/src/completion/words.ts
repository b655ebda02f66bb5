import type { Command, Option } from 'commander';

/** The words that can follow the program's name. */
export interface CompletionWords {
  readonly program: string;
  readonly commands: readonly CommandWords[];
}

export interface CommandWords {
  readonly name: string;
  readonly description: string;
  /** Values of its arguments. */
  readonly values: readonly string[];
  readonly options: readonly OptionWords[];
}

export interface OptionWords {
  /** With its two dashes. */
  readonly flag: string;
  readonly description: string;
  /** Whether the option takes a value, and its choices; without choices it is a file or free text. */
  readonly takesValue: boolean;
  readonly values: readonly string[];
}

/** All commands and options of a program, as in its help. */
export function wordsOf(program: Command): CompletionWords {
  return {
    program: program.name(),
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: command.description(),
      values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
      options: [...command.options.filter(({ hidden }) => !hidden).map(optionWords), helpOption],
    })),
  };
}

const helpOption: OptionWords = {
  flag: '--help',
  description: 'display help for command',
  takesValue: false,
  values: [],
};

function optionWords({ long, description, required, argChoices }: Option): OptionWords {
  return { flag: long ?? '', description, takesValue: required, values: argChoices ?? [] };
}
