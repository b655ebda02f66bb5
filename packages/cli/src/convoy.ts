import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { CommanderError } from 'commander';
import { exitCodes } from './commands/exit-code.js';
import { Interrupted } from './commands/interruption.js';
import { NotInTime } from './environment/fleet/follow.js';
import { convoyCommand } from './program.js';
import { errorLines } from './progress-view/error-lines.js';

try {
  await convoyCommand().parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Says what went wrong, if that was not said already, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (error instanceof Interrupted || (error instanceof Error && error.cause instanceof Interrupted)) return exitCodes.interrupted;
  if (error instanceof ConvoyError) {
    console.error(errorLines(error).join('\n'));
    return ['instanceUnreachable', 'requestTimedOut'].includes(error.error) ? exitCodes.unreachable : exitCodes.failed;
  }
  console.error(error instanceof Error ? error.message : String(error));
  return error instanceof NotInTime ? exitCodes.notInTime : exitCodes.failed;
}
