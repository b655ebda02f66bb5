import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Linter } from 'eslint';
import { describe, expect, test } from 'vitest';

const packages = fileURLToPath(new URL('../../../', import.meta.url));

/** What a user starts, and what containers and Convoy's own processes start. */
const programs = [
  'cli/bin/convoy.mjs',
  'cli/dist/convoy.js',
  'simulator/bin/simulator.mjs',
  'simulator/dist/process.js',
];

/** Makes a Node.js pass itself off as another one, before the program runs. */
function as(version: string): string {
  const versions = `{ ...process.versions, node: '${version}' }`;
  return `data:text/javascript,Object.defineProperty(process, 'versions', { value: ${versions} })`;
}

function run(program: string, version: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const args = ['--import', as(version), `${packages}${program}`, '--help'];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? NaN, stdout, stderr });
    });
  });
}

describe.each(programs)('%s', (program) => {
  test.each(['20.20.2', '22.11.0'])('says at once on Node.js %s which one it needs', async (version) => {
    const { code, stdout, stderr } = await run(program, version);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trim()).toMatch(
      new RegExp(String.raw`^(Convoy|The simulator) needs Node\.js 22\.12\.0 or later; this is ${version}\. Install`),
    );
    expect(stderr.trim().split('\n')).toHaveLength(1);
  });

  test.each(['22.12.0'])('runs on Node.js %s', async (version) => {
    const { code, stdout } = await run(program, version);
    expect(code).toBe(0);
    expect(stdout).toMatch(/usage/i);
  });
});

test.each(['cli/bin/convoy.mjs', 'cli/dist/required-node.js', 'simulator/bin/simulator.mjs'])(
  'an old Node.js can read %s',
  (path) => {
    const text = readFileSync(`${packages}${path}`, 'utf8');
    const messages = new Linter().verify(text, { languageOptions: { ecmaVersion: 2020, sourceType: 'module' } });
    expect(messages).toEqual([]);
  },
);
