import type { CompletionWords, OptionWords } from './words.js';

/** A fish script: commands and options with descriptions. */
export function fishCompletion({ program, commands }: CompletionWords): string {
  const lines = [`# Completion of ${program} for fish.`, `complete -c ${program} -f`];
  for (const { name, description } of commands)
    lines.push(`complete -c ${program} -n __fish_use_subcommand -a ${name} -d ${quoted(description)}`);
  for (const { name, values, options } of commands) {
    const seen = `complete -c ${program} -n '__fish_seen_subcommand_from ${name}'`;
    lines.push(...options.map((option) => `${seen} ${optionText(option)}`));
    if (values.length > 0) lines.push(`${seen} -a ${quoted(values.join(' '))}`);
  }
  return `${lines.join('\n')}\n`;
}

/** `-r -F`: the option requires a value, which may be a file. */
function optionText({ flag, description, takesValue, values }: OptionWords): string {
  const value = !takesValue ? '' : values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : ' -r -F';
  return `-l ${flag.slice(2)} -d ${quoted(description)}${value}`;
}

function quoted(text: string): string {
  return `'${text.replace(/['\\]/g, '\\$&')}'`;
}
