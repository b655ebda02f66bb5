import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { convoyProgram } from '@convoy/cli/environment/fleet/convoy-program';

const red = '\u001B[31minstanceUnreachable\u001B[39m: ';

/** What a command prints that finds no service, without a terminal. */
function failure(env: Record<string, string>, ...flags: string[]): Promise<string> {
  const args = [convoyProgram, ...flags, 'progress', '--url', 'http://127.0.0.1:1'];
  const own = { ...process.env, FORCE_COLOR: undefined, NO_COLOR: undefined, NODE_DISABLE_COLORS: undefined, ...env };
  return new Promise((resolve) => execFile(process.execPath, args, { env: own }, (_, _out, stderr) => resolve(stderr)));
}

test.concurrent('FORCE_COLOR asks for colours', async () => {
  expect(await failure({ FORCE_COLOR: '1' })).toContain(red);
});

test.concurrent.each([
  ['a pipe', {}, []],
  ['NO_COLOR', { NO_COLOR: '1' }, []],
  ['--no-color, which is stronger than FORCE_COLOR', { FORCE_COLOR: '1' }, ['--no-color']],
])('there are none with %s', async (_name, env, flags) => {
  const stderr = await failure(env, ...flags);
  expect(stderr).toMatch(/^instanceUnreachable: /);
  expect(stderr).not.toContain('\u001B');
});
