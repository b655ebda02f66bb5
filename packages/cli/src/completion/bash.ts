import type { CommandWords, CompletionWords } from './words.js';

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
