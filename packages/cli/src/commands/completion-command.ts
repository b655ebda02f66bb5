import { Argument, type Command, type Option } from 'commander';

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

/** The words that can follow the program's name. */
interface CompletionWords {
  readonly program: string;
  readonly commands: readonly CommandWords[];
}

interface CommandWords {
  readonly name: string;
  readonly description: string;
  /** Values of its arguments. */
  readonly values: readonly string[];
  readonly options: readonly OptionWords[];
}

interface OptionWords {
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

/** A bash script: words by command, choices, and files after an option with a value. */
export function bashCompletion({ program, commands }: CompletionWords): string {
  return `# Completion of ${program} for bash.
_${program}() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${commands.map(({ name }) => name).join(' ')} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]} $previous" in
${commands.flatMap(valueCases).join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${commands.map(wordCase).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${program} ${program}
`;
}

function wordCase({ name, options, values }: CommandWords): string {
  return `    ${name}) words="${[...options.map(({ flag }) => flag), ...values].join(' ')}" ;;`;
}

function valueCases({ name, options }: CommandWords): string[] {
  const taking = options.filter(({ takesValue }) => takesValue);
  const chosen = taking.filter(({ values }) => values.length > 0);
  const free = taking.filter(({ values }) => values.length === 0);
  return [
    ...chosen.map(
      ({ flag, values }) =>
        `    "${name} ${flag}") COMPREPLY=($(compgen -W "${values.join(' ')}" -- "$current")); return ;;`,
    ),
    ...(free.length === 0 ? [] : [fileCase(free.map(({ flag }) => `"${name} ${flag}"`))]),
  ];
}

function fileCase(patterns: readonly string[]): string {
  return `    ${patterns.join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;`;
}

/** A fish script: commands and options with descriptions. */
export function fishCompletion({ program, commands }: CompletionWords): string {
  const lines = [`# Completion of ${program} for fish.`, `complete -c ${program} -f`];
  for (const { name, description } of commands)
    lines.push(`complete -c ${program} -n __fish_use_subcommand -a ${name} -d ${fishQuoted(description)}`);
  for (const { name, values, options } of commands) {
    const seen = `complete -c ${program} -n '__fish_seen_subcommand_from ${name}'`;
    lines.push(...options.map((option) => `${seen} ${optionText(option)}`));
    if (values.length > 0) lines.push(`${seen} -a ${fishQuoted(values.join(' '))}`);
  }
  return `${lines.join('\n')}\n`;
}

/** `-r -F`: the option requires a value, which may be a file. */
function optionText({ flag, description, takesValue, values }: OptionWords): string {
  const value = !takesValue ? '' : values.length > 0 ? ` -x -a ${fishQuoted(values.join(' '))}` : ' -r -F';
  return `-l ${flag.slice(2)} -d ${fishQuoted(description)}${value}`;
}

function fishQuoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}

/** A zsh script: commands and options with descriptions. */
export function zshCompletion({ program, commands }: CompletionWords): string {
  return `#compdef ${program}
# Completion of ${program} for zsh.
_${program}() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    ${zshQuoted(`${name}:${description}`)}`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe -t commands command commands
    return
  fi
  case "$words[2]" in
${commands.map(commandCase).join('\n')}
  esac
}
if [ "$funcstack[1]" = _${program} ]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function commandCase({ name, values, options }: CommandWords): string {
  const specs = [...options.map(optionSpec), ...(values.length === 0 ? [] : [`1:value:(${values.join(' ')})`])];
  return [
    `    ${name})`,
    '      shift words; (( CURRENT-- ))',
    `      _arguments ${specs.map(zshQuoted).join(' ')} ;;`,
  ].join('\n');
}

function optionSpec({ flag, description, takesValue, values }: OptionWords): string {
  const text = `${flag}[${description.replace(/[[\]\\:]/g, '\\$&')}]`;
  if (!takesValue) return text;
  return `${text}:value:${values.length > 0 ? `(${values.join(' ')})` : '_files'}`;
}

function zshQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
