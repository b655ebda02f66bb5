import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { root } from '../process.mjs';

const execFileAsync = promisify(execFile);

/** A list of a whole tree of packages takes megabytes. */
const outputBytesMax = 256 * 1024 * 1024;

/**
 * Runs npm, the one that started this process where one did, and answers with what it prints.
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string> }} [options] the repository's folder when there is no other
 * @returns {Promise<string>}
 * @throws {Error} with npm's own words
 */
export async function npm(args, options = {}) {
  const own = process.env.npm_execpath;
  const [command, ...first] = own?.endsWith('.js') ? [process.execPath, own] : ['npm'];
  const { stdout } = await execFileAsync(command, [...first, ...args], {
    cwd: options.cwd ?? root,
    env: { ...process.env, ...options.env },
    maxBuffer: outputBytesMax,
  });
  return stdout;
}
