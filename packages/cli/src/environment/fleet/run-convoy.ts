import { execFile } from 'node:child_process';
import { convoyProgram, withoutRedisVariable } from './convoy-program.js';

/** A command's output and exit code. */
export interface CommandResult {
  code: number;
  stdout: string;
  stderr: string;
}

/** Without colours, which the test runner may ask for, and without the tests' own Redis. */
function childEnv(): NodeJS.ProcessEnv {
  return { ...process.env, ...withoutRedisVariable, FORCE_COLOR: undefined };
}

/**
 * Runs the compiled `convoy` and waits until it exits. For tests.
 * @throws Error when it did not start, was killed by a signal, or printed more than Node.js keeps
 */
export function runConvoy(...args: string[]): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [convoyProgram, ...args], { env: childEnv() }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === 'number') resolve({ code, stdout, stderr });
      else reject(error ?? new Error('convoy has no exit code'));
    });
  });
}
