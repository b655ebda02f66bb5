import { execFile } from 'node:child_process';
import { convoyProgram, withoutRedisVariable } from './convoy-program.js';

/** A command's output and exit code. */
export interface EndedCommand {
  code: number;
  stdout: string;
  stderr: string;
}

/** Without colours, which the runner of tests may ask for, and without the tests' own Redis. */
function environment(): NodeJS.ProcessEnv {
  return { ...process.env, ...withoutRedisVariable, FORCE_COLOR: undefined };
}

/** Runs the compiled `convoy` with arguments to its end. */
export function runConvoy(...args: string[]): Promise<EndedCommand> {
  return new Promise((resolve) => {
    execFile(process.execPath, [convoyProgram, ...args], { env: environment() }, (error, stdout, stderr) => {
      const code = typeof error?.code === 'number' ? error.code : 0;
      resolve({ code, stdout, stderr });
    });
  });
}
