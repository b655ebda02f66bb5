import { execFile, execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
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

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function run(program: string, version: string): Promise<Ended> {
  return runWith(process.execPath, '--import', as(version), `${packages}${program}`, '--help');
}

function runWith(node: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(node, args, (_, stdout, stderr) => {
      resolve({ code: child.exitCode ?? NaN, stdout, stderr });
    });
  });
}

/** Where systems keep a Node.js of their own. */
const places = ['/usr/local/bin/node', '/usr/bin/node'];

/** A Node.js of this machine that is too old, with its version. */
function oldNode(): { path: string; version: string } | undefined {
  return places
    .filter((path) => existsSync(path))
    .map((path) => ({ path, version: execFileSync(path, ['--version'], { encoding: 'utf8' }).trim().slice(1) }))
    .find(({ version }) => Number(version.split('.')[0]) < 22);
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

/** Commands that would otherwise run for a while before they need what an old Node.js lacks. */
const commands = [['--help'], ['instance', '--cluster0', 'mongodb://a', '--cluster1', 'mongodb://b'], ['demo']];
const old = oldNode();

test.skipIf(old === undefined).each(programs)(
  `%s says at once on a real old Node.js which one it needs (one in ${places.join(' or ')})`,
  async (program) => {
    const { path, version } = old as NonNullable<typeof old>;
    for (const command of commands) {
      const { code, stdout, stderr } = await runWith(path, `${packages}${program}`, ...command);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
      expect(stderr).toMatch(/^(Convoy|The simulator) needs Node\.js 22\.12\.0 or later; this is \S+\. [^\n]+\n$/);
      expect(stderr).toContain(`this is ${version}. `);
    }
  },
);

test.each(['cli/bin/convoy.mjs', 'cli/dist/required-node.js', 'simulator/bin/simulator.mjs'])(
  'an old Node.js can read %s',
  (path) => {
    const text = readFileSync(`${packages}${path}`, 'utf8');
    const messages = new Linter().verify(text, { languageOptions: { ecmaVersion: 2020, sourceType: 'module' } });
    expect(messages).toEqual([]);
  },
);
