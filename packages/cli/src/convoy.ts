import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { CommanderError } from 'commander';
import { exitCodeOf, exitCodes } from './commands/exit-code.js';
import { isInterruption } from './commands/interruption.js';
import { failureOutput, wantsJson } from './commands/json-output.js';
import { NotInTime } from './environment/fleet/follow.js';
import { convoyCommand } from './program.js';
import { colouredFailure } from './progress-view/colours.js';
import { errorLines } from './progress-view/error-lines.js';

// Node.js would print an uncaught error with all its fields, even document values.
process.on('uncaughtException', (error) => void report(error).then((code) => process.exit(code)));

// A pipe whose reader has ended, such as `head`, is no failure worth a message.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.interrupted);
  throw error;
});

try {
  await convoyCommand().parseAsync();
} catch (error) {
  process.exitCode = await report(error);
}

/** Prints the failure and returns the exit code. */
async function report(error: unknown): Promise<number> {
  const isFailure = !(error instanceof CommanderError && error.exitCode === 0);
  if (isFailure && wantsJson(process.argv)) console.log(JSON.stringify(failureOutput(error, await textOf(error))));
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
