import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Enough of a message for the seed and the path of a property that failed. */
const messageCharsMax = 2_000;
/** The last lines of each process. */
const linesMax = 15;
/** Longer lines are cut: they are JSON whose beginning says what happened. */
const lineCharsMax = 300;
/** Failures that a process logs before its last lines; later ones follow from the first. */
const errorsMax = 3;
/** Enough of a failure for its causes and the places that they come from. */
const errorCharsMax = 2_000;

/** An instance's line of the level `error` or `fatal`. */
const isError = (line) => /^\{"level":"(?:error|fatal)",/.test(line);

/**
 * The report of a failed test: its message, the logs' folder with the first failures and the last lines of each
 * process, and the command that repeats the test alone, with its seed.
 * @param {{ file: string, name?: string, message: unknown, meta?: { seed?: number, logs?: string } }} failure
 * @returns {string} lines; those behind the first are indented
 */
export function failureStory({ file, name, message, meta = {} }) {
  const title = name === undefined ? file : `${file} > ${name}`;
  const lines = `${title}: ${String(message).slice(0, messageCharsMax)}`.split('\n');
  if (meta.logs !== undefined) lines.push(`logs: ${meta.logs}`, ...logTails(meta.logs));
  lines.push(`alone: ${commandOf(file, name, meta.seed)}`);
  return lines.join('\n  ');
}

/** The first failures and the last lines of every log in a folder. */
function logTails(folder) {
  return logsIn(folder).flatMap((log) => {
    const lines = readFileSync(join(folder, log), 'utf8').trimEnd().split('\n');
    const errors = lines.slice(0, -linesMax).filter(isError).slice(0, errorsMax);
    const failures = errors.length === 0 ? [] : [`${log} has failures:`, ...errors.map(shown)];
    return [...failures, `${log} ends with:`, ...lines.slice(-linesMax).map(shown)];
  });
}

function shown(line) {
  return `| ${line.slice(0, isError(line) ? errorCharsMax : lineCharsMax)}`;
}

function logsIn(folder) {
  try {
    return readdirSync(folder, { recursive: true })
      .filter((name) => name.endsWith('.log'))
      .sort();
  } catch {
    return [];
  }
}

/**
 * A seed in the name is that of this very case. A name is a pattern for vitest, and joins its parts by a space:
 * everything in it but letters and digits stands for any characters.
 */
function commandOf(file, name, seedOfProcess) {
  if (name === undefined) return `npm test -- ${file}`;
  const seed = /\bseed (\d+)/.exec(name)?.[1] ?? seedOfProcess;
  const pattern = name.replaceAll(/[^\p{L}\p{N}]+/gu, '.*');
  return `${seed === undefined ? '' : `CONVOY_TEST_SEED=${seed} `}npm test -- ${file} -t '${pattern}$'`;
}
