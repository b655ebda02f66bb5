import { Writable } from 'node:stream';
import { styleText } from 'node:util';

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow';

/** What a line begins with, and how that is shown. Signs and words stay: colours say nothing that these do not. */
const beginnings: readonly (readonly [RegExp, Style])[] = [
  [/^✓ [a-z]+/, 'green'],
  [/^! \w+/, 'yellow'],
  [/^✗ [a-z]+( [a-z]+)*/, 'red'],
  [/^[?-] [a-z]+( [a-z]+)*/, 'dim'],
  [/^(no commit yet|WAITING)\b/, 'yellow'],
  [/^COMMITTED\b/, 'green'],
  [/^(IDLE|INITIALIZING|RUNNING|PAUSED|COMMITTING|REVERSING|Next:)/, 'bold'],
];

/**
 * A finished line in colours, if the stream shows them: Node.js heeds `NO_COLOR`, `FORCE_COLOR`, `TERM` and whether it
 * is a terminal. Cut lines to their width before: they become longer here.
 */
export function coloured(line: string, stream: unknown = process.stdout): string {
  for (const [beginning, style] of beginnings) {
    const [found] = beginning.exec(line) ?? [];
    if (found !== undefined) return styled(style, found, stream) + line.slice(found.length);
  }
  return line;
}

/** Finished lines for standard output. */
export function colouredLines(lines: readonly string[]): string {
  return lines.map((line) => coloured(line)).join('\n');
}

/** The name of a failure, which stands first on standard error, in red. */
export function colouredFailure(line: string): string {
  const [name = ''] = /^\w+(?=: )/.exec(line) ?? [];
  return (name === '' ? '' : styled('red', name, process.stderr)) + line.slice(name.length);
}

function styled(style: Style, text: string, stream: unknown): string {
  return stream instanceof Writable ? styleText(style, text, { stream }) : text;
}

/** What `--no-color` means, for this process and for those that it starts. */
export function withoutColours(env: NodeJS.ProcessEnv): void {
  env['NO_COLOR'] = '1';
  delete env['FORCE_COLOR'];
}
