import { spawn } from 'node:child_process';
import { clearTimeout } from 'node:timers';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The repository's folder, with a separator at its end. */
export const root = fileURLToPath(new URL('..', import.meta.url));

const forwardedSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a program in the repository's folder with this process's input and output, and forwards signals to it.
 * @param {string} command
 * @param {string[]} args
 * @param {{ env?: Record<string, string>, limit_ms?: number }} [options] `env` is added to this process's own; after
 * `limit_ms` the program is killed
 * @returns {Promise<number>} its exit code; 128 + signal number when a signal ended it, as shells have it
 */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...options.env } });
    const forward = (/** @type {NodeJS.Signals} */ signal) => child.kill(signal);
    for (const signal of forwardedSignals) process.on(signal, forward);
    const limit =
      options.limit_ms === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), options.limit_ms);
    const settle = () => {
      clearTimeout(limit);
      for (const signal of forwardedSignals) process.off(signal, forward);
    };
    child.on('error', (error) => {
      settle();
      reject(error);
    });
    child.on('exit', (code, signal) => {
      settle();
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

/**
 * Runs a script with this Node.js.
 * @param {string} script path, relative to the repository's folder
 * @param {string[]} args
 * @param {Parameters<typeof run>[2]} [options]
 */
export function runNode(script, args, options) {
  return run(process.execPath, [script, ...args], options);
}
