import type { CommandWords, CompletionWords, OptionWords } from './words.js';

/** A zsh script: commands and options with descriptions. */
export function zshCompletion({ program, commands }: CompletionWords): string {
  return `#compdef ${program}
# Completion of ${program} for zsh.
_${program}() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    ${quoted(`${name}:${description}`)}`).join('\n')}
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
    `      _arguments ${specs.map(quoted).join(' ')} ;;`,
  ].join('\n');
}

function optionSpec({ flag, description, takesValue, values }: OptionWords): string {
  const text = `${flag}[${description.replace(/[[\]\\:]/g, '\\$&')}]`;
  if (!takesValue) return text;
  return `${text}:value:${values.length > 0 ? `(${values.join(' ')})` : '_files'}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
