/*
 * Runs commands of `convoy` for the tests of a process: it has loaded their modules once, which takes most of what a
 * short command costs. Commands may overlap; each has its own output and exit code.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { runCommand } from '../dist/run-command.js';

const commands = new AsyncLocalStorage();

// Each command that can be interrupted listens to signals, and would end with its process.
process.setMaxListeners(0);

for (const name of ['stdout', 'stderr']) {
  process[name].write = (text, ...rest) => {
    const command = commands.getStore();
    if (command !== undefined) command[name] += text;
    rest.findLast((argument) => typeof argument === 'function')?.();
    return true;
  };
}

process.on('message', ({ id, args }) => {
  const command = { stdout: '', stderr: '' };
  void commands.run(command, async () => {
    const code = await runCommand(args);
    process.send({ id, code, ...command });
  });
});

process.on('disconnect', () => process.exit());
