import { readFileSync } from 'node:fs';

/** An instance that began to lead, as its log shows. */
export interface Leading {
  readonly epoch: number;
  /** The log's process, by its file. */
  readonly logFile: string;
}

/** All that the logs show of leaders, in the order of their epochs. */
export function readLeaders(logFiles: readonly string[]): Leading[] {
  const all = logFiles.flatMap((logFile) => linesOf(logFile).flatMap((line) => leadingOf(line, logFile)));
  return all.sort((a, b) => a.epoch - b.epoch);
}

/** The logs of elected leaders, in the order of time. */
export function readElections(logFiles: readonly string[]): string[] {
  const elections = logFiles.flatMap((logFile) => linesOf(logFile).flatMap((line) => electionOf(line, logFile)));
  return elections.sort((a, b) => a.time.localeCompare(b.time)).map(({ logFile }) => logFile);
}

/**
 * Whether a process has found out that another works in its place, and ended its own work.
 * @param isOver once the migration is committed there is no work to be ended: it hears of the other by its identity
 * alone
 */
export function knowsReplaced(logFile: string, isOver: boolean): boolean {
  const lines = linesOf(logFile);
  return lines.some(
    (line) => line.includes('"error":"staleEpoch"') || (isOver && line.includes('"event":"identityTaken"')),
  );
}

function linesOf(logFile: string): string[] {
  return readFileSync(logFile, 'utf8').split('\n');
}

function leadingOf(line: string, logFile: string): Leading[] {
  const epoch = /"event":"leading","leaderEpoch":(\d+)/.exec(line)?.[1];
  return epoch === undefined ? [] : [{ epoch: Number(epoch), logFile }];
}

function electionOf(line: string, logFile: string): { time: string; logFile: string }[] {
  const time = /"time":"([^"]+)".*"event":"leaderElected"/.exec(line)?.[1];
  return time === undefined ? [] : [{ time, logFile }];
}
