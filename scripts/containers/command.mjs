import { spawn } from 'node:child_process';
import { clearTimeout } from 'node:timers';
import { root } from '../process.mjs';

/** A program ended with an error, or took too long. */
export class CommandFailure extends Error {}

/** Lines of a failed program's output in its error. */
const tailLines = 30;

/**
 * Runs a program to its end.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, limit_ms?: number, cwd?: string }} [options] `env` is added to this process's
 * own; after `limit_ms` (10 minutes when left out) the program is killed
 * @returns {Promise<string>} its standard output, without line breaks at the end
 * @throws {CommandFailure} with the last lines of its output
 */
export function output(command, args, { env, limit_ms = 600_000, cwd = root } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const limit = setTimeout(() => child.kill('SIGKILL'), limit_ms);
    let printed = '';
    let everything = '';
    child.stdout.on('data', (data) => {
      printed += data;
      everything += data;
    });
    child.stderr.on('data', (data) => (everything += data));
    child.on('error', (error) => {
      clearTimeout(limit);
      reject(new CommandFailure(`${command} did not start: ${error.message}`));
    });
    child.on('close', (code, signal) => {
      clearTimeout(limit);
      if (code === 0) return resolve(printed.trimEnd());
      const tail = everything.trimEnd().split('\n').slice(-tailLines).join('\n');
      reject(new CommandFailure(`${[command, ...args].join(' ')} ended with ${signal ?? code}:\n${tail}`));
    });
  });
}

/** True when a program ends well, false when it does not, or is not there. */
export async function succeeds(command, args, options) {
  try {
    await output(command, args, options);
    return true;
  } catch {
    return false;
  }
}
