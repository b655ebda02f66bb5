import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { CommanderError } from 'commander';
import { exitCodes } from './commands/exit-code.js';
import { Interrupted } from './commands/interruption.js';
import { NotInTime } from './environment/fleet/follow.js';
import { convoyCommand } from './program.js';
import { errorLines } from './progress-view/error-lines.js';

// Node.js would print an uncaught error with all its fields, even document values.
process.on('uncaughtException', (error) => void report(error).then((code) => process.exit(code)));

/** The service gave no reply. */
const unreachableErrors = ['instanceUnreachable', 'requestTimedOut', 'tlsFailed'];

try {
  await convoyCommand().parseAsync();
} catch (error) {
  process.exitCode = await report(error);
}

/** Prints the failure, unless it was printed already, and returns the exit code. */
async function report(error: unknown): Promise<number> {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (error instanceof Interrupted || (error instanceof Error && error.cause instanceof Interrupted))
    return exitCodes.interrupted;
  if (error instanceof ConvoyError) {
    console.error(errorLines(error).join('\n'));
    return unreachableErrors.includes(error.error) ? exitCodes.unreachable : exitCodes.failed;
  }
  if (error instanceof NotInTime) {
    console.error(error.message);
    return exitCodes.notInTime;
  }
  // Loads the driver, which most commands do not need.
  const { errorText } = await import('@convoy/instance/logging/error-text');
  console.error(errorText(error));
  return exitCodes.failed;
}
