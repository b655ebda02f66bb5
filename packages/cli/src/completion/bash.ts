import type { CommandWords, CompletionWords } from './words.js';

/** A script for bash: words by command, choices and files after an option that takes a value. */
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
${commands.map((command) => `    ${command.name}) words="${[...command.options.map(({ flag }) => flag), ...command.values].join(' ')}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${program} ${program}
`;
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
    ...(free.length === 0
      ? []
      : [
          `    ${free.map(({ flag }) => `"${name} ${flag}"`).join('|')}) COMPREPLY=($(compgen -f -- "$current")); return ;;`,
        ]),
  ];
}
