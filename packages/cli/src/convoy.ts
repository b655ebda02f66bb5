import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { Command, CommanderError } from 'commander';
import { addCheckCommand } from './commands/check-command.js';
import { addDemoCommand } from './commands/demo-command.js';
import { exitCodes, exitCodesHelp } from './commands/exit-code.js';
import { Interrupted } from './commands/interruption.js';
import { addProcessCommands } from './commands/process-commands.js';
import { addServiceCommands } from './commands/service-commands.js';

const program = new Command('convoy')
  .description('Moves live MongoDB clusters into new ones: one sync instance per source shard, coordinated through Redis.')
  .showHelpAfterError('(see convoy --help)')
  .exitOverride()
  .addHelpText('after', exitCodesHelp);

addProcessCommands(program);
addCheckCommand(program);
addServiceCommands(program);
addDemoCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Says what went wrong, if that was not said already, and gives the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (error instanceof Interrupted || (error instanceof Error && error.cause instanceof Interrupted)) return exitCodes.interrupted;
  if (error instanceof ConvoyError) {
    console.error(error.message);
    return ['instanceUnreachable', 'requestTimedOut'].includes(error.error) ? exitCodes.unreachable : exitCodes.failed;
  }
  console.error(error instanceof Error ? error.message : String(error));
  return exitCodes.failed;
}
