import { convoyCommand } from '@convoy/cli/program';
import { parseArguments } from '@convoy/simulator/internal/process/arguments';
import { readText, trackedFiles } from '../source-tree.js';

/** Where the options of a script of npm are read: paths, or their beginnings. */
const optionsReadIn: Readonly<Record<string, string>> = {
  bench: 'packages/bench/src/',
  'containers-check': 'scripts/containers/',
  differential: 'packages/simulator/test/differential/',
  release: 'scripts/release/',
  sabotage: 'test/sabotage/',
  screenshots: 'packages/bench/src/screenshots/',
  site: 'scripts/site/',
  soak: 'e2e/soak/',
  test: 'scripts/test.mjs',
  'test:all': 'scripts/test-all.mjs',
};

type Command = ReturnType<typeof convoyCommand>;

const tracked = trackedFiles();
const scripts = Object.keys((JSON.parse(readText('package.json')) as { scripts: Record<string, string> }).scripts);

/**
 * What is wrong with a command as far as it is Convoy's: a command, an option, a value or a script that does not exist.
 * @returns undefined when nothing is, or when it is no command of Convoy
 */
export async function faultOf(command: string): Promise<string | undefined> {
  const convoy = /(?:^|[ /(])(?:convoy|npx @convoy\/cli)((?: [^|)]+)?)/.exec(command)?.[1];
  const isConvoy = /^(?:\S*\/)?convoy |^npx @convoy\/cli|^source <\(convoy/.test(command);
  if (isConvoy) return convoyFault(wordsOf(convoy ?? ''));
  const simulator = /^(?:simulator|npx @convoy\/simulator) (.+)$/.exec(command)?.[1];
  if (simulator !== undefined) return simulatorFault(wordsOf(simulator));
  const [, name = ''] = /^npm (?:run )?([a-z:-]+)/.exec(command) ?? [];
  return command.startsWith('npm run ') || name === 'test' ? scriptFault(name, wordsOf(command)) : undefined;
}

/** Words of a shell, without their quotes. */
export function wordsOf(text: string): string[] {
  return [...text.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );
}

async function convoyFault(words: readonly string[]): Promise<string | undefined> {
  // A name in capitals stands for any.
  if (words[0] === undefined || /^[A-Z]+$/.test(words[0])) return undefined;
  const program = silent(convoyCommand());
  for (const command of program.commands) silent(command).action(() => undefined);
  try {
    await program.parseAsync([...words], { from: 'user' });
    return undefined;
  } catch (error) {
    return isExpected(error, words) ? undefined : String(error);
  }
}

/** Help, a file of the reader's, and a command that a text only names. */
function isExpected(error: unknown, words: readonly string[]): boolean {
  if (!(error instanceof Error && 'code' in error && 'exitCode' in error)) return false;
  const isName = words.length === 1 && error.code === 'commander.missingArgument';
  return error.exitCode === 0 || isName || error.message.includes('ENOENT');
}

function silent(command: Command): Command {
  return command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
}

function simulatorFault(words: readonly string[]): string | undefined {
  try {
    parseArguments(words);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

function scriptFault(name: string, words: readonly string[]): string | undefined {
  if (!scripts.includes(name)) return `package.json has no script ${name}`;
  const separator = words.indexOf('--');
  const own = separator === -1 ? [] : words.slice(separator + 1);
  if (name === 'demo') return undefined;
  const options = own.filter((word) => word.startsWith('--')).map((word) => word.slice(2));
  const place = optionsReadIn[name] ?? 'nowhere';
  const sources = tracked.filter((path) => path.startsWith(place) && /\.(mjs|ts)$/.test(path));
  const text = sources.map(readText).join('\n');
  const isRead = (option: string): boolean =>
    new RegExp(`--${option}\\b|['"]${option}['"]|[{,\\s]${option}: \\{`).test(text);
  const unknown = options.filter((option) => option !== 'help' && !isRead(option));
  return unknown.length === 0 ? undefined : `npm run ${name} has no option ${unknown.join(', ')}`;
}
