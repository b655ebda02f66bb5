import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { CommanderError } from 'commander';
import { EndedWith, exitCodeOf, exitCodes } from './commands/exit-code.js';
import { isInterruption } from './commands/interruption.js';
import { failureOutput, wantsJson } from './commands/json-output.js';
import { NotInTime } from './environment/fleet/follow.js';
import { convoyCommand } from './program.js';
import { colouredFailure } from './progress-view/colours.js';
import { errorLines } from './progress-view/error-lines.js';

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
