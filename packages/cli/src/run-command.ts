import { CommanderError } from 'commander';
import { nextStepAfterFailure } from '@convoy/api/contract/next-step';
import { ConvoyError, type ErrorName } from '@convoy/api/errors/convoy-error';
import { EndedWith, exitCodeOf, exitCodes } from './commands/exit-code.js';
import { isInterruption } from './commands/interruption.js';
import { failureOutput, wantsJson } from './commands/json-output.js';
import { NotInTime } from './environment/fleet/follow.js';
import { convoyCommand } from './program.js';
import { colouredFailure } from './progress-view/colours.js';

/**
 * Runs one command to its end, and prints its failure.
 * @param args what stands behind `convoy`
 * @returns the exit code
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    await convoyCommand().parseAsync(args, { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    return report(error, args);
  }
}

/** Prints the failure of a command, and returns the exit code. */
export async function report(error: unknown, args: readonly string[]): Promise<number> {
  if (error instanceof EndedWith) return error.code;
  const isFailure = !(error instanceof CommanderError && error.exitCode === 0);
  if (isFailure && wantsJson(args)) console.log(JSON.stringify(failureOutput(error, await textOf(error))));
  return reportAsText(error);
}

/** Prints the failure, unless it was printed already, and returns the exit code. */
async function reportAsText(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (isInterruption(error)) return exitCodes.interrupted;
  if (error instanceof ConvoyError) {
    console.error(errorLines(error).map(colouredFailure).join('\n'));
    return exitCodeOf([error.error]);
  }
  if (error instanceof NotInTime) {
    console.error(error.message);
    return exitCodes.notInTime;
  }
  console.error(await textOf(error));
  return exitCodes.failed;
}

/** Loads the driver, which most commands do not need. */
async function textOf(error: unknown): Promise<string> {
  return (await import('@convoy/instance/logging/error-text')).errorText(error);
}

/** The next command after a failure, which the service's description cannot know. */
const advice: Partial<Readonly<Record<ErrorName, string>>> = {
  instanceUnreachable:
    'Start a coordinator (convoy coordinator), or set another address with --url or CONVOY_URL. A lone ' +
    'instance listens on http://127.0.0.1:27182.',
  requestTimedOut: 'Check the state with: convoy progress',
  unexpectedReply: 'Set the address of a coordinator or an instance with --url or CONVOY_URL.',
  unauthorized: 'Set the token with --token-file or CONVOY_TOKEN.',
  fleetIncomplete: 'Start an instance for each source shard: convoy instance --id <shard> …',
  notInThisState: 'Check the state with: convoy progress',
  cannotCommit: 'Wait for it with: convoy watch',
  commandFailedOnInstances: 'Remove the reasons, and repeat the command.',
  commandTimedOut: 'Repeat the command; it does not affect instances that accepted it.',
  reversibleNeedsWriteBlocking: 'Add --enable-user-write-blocking, or leave out --reversible.',
  notReversible:
    'To go back, empty the source and migrate in the other direction: docs/guide/cut-over.md has the steps.',
  verificationNotSupported: 'Start without the embedded verifier: convoy start --no-verification',
  migrationExists: 'List and remove that state with: convoy cleanup',
  migrationFailed: 'Stop all instances, then: convoy cleanup',
};

/** Failures that end a migration, and no other. */
const endings: readonly ErrorName[] = [
  'verificationFailed',
  'oplogHistoryLost',
  'catalogDiffers',
  'uniqueIndexViolated',
  'retriesExhausted',
  'transactionsNotEnded',
  'sourceWritesAfterCommit',
  'commitRoundsExceeded',
];

/** A failure as text: what happened, and what to do next unless the description says it. */
export function errorLines(error: ConvoyError): string[] {
  const next = advice[error.error] ?? (endings.includes(error.error) ? nextStepAfterFailure : undefined);
  return next === undefined ? [error.message] : [error.message, `Next: ${next}`];
}
