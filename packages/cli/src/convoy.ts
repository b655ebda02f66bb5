import './required-node.js';
import { exitCodes } from './commands/exit-code.js';
import { report, runCommand } from './run-command.js';

const args = process.argv.slice(2);

// Node.js would print an uncaught error with all its fields, even document values.
process.on('uncaughtException', (error) => void report(error, args).then((code) => process.exit(code)));

// A pipe whose reader has ended, such as `head`, is no failure worth a message.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(exitCodes.interrupted);
  throw error;
});

process.exitCode = await runCommand(args);
