import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SimulatorProcess } from './simulator-process.js';

const run = promisify(execFile);
const packageFolder = fileURLToPath(new URL('../../../', import.meta.url));

describe('the packed package, installed beside its one dependency', () => {
  let folder: string;
  let installed: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'convoy-simulator-package-'));
    const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: packageFolder });
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
    const modules = join(folder, 'node_modules');
    installed = join(modules, '@convoy', 'simulator');
    await mkdir(installed, { recursive: true });
    await run('tar', ['-xzf', join(folder, filename), '-C', installed, '--strip-components=1']);
    const bson = dirname(dirname(createRequire(import.meta.url).resolve('bson')));
    await symlink(bson, join(modules, 'bson'));
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  it('runs as a program', async () => {
    await using simulator = SimulatorProcess.start(['--shards', '1'], join(installed, 'dist', 'process.js'));
    await using client = await MongoClient.connect((await simulator.ready())['connectionString'] as string);
    expect(await client.db('db').collection('c').countDocuments()).toBe(0);
  });

  it('starts a cluster by the three lines of its README', async () => {
    const [, lines = ''] = /^```js\n([^`]*)^```/m.exec(await readFile(join(installed, 'README.md'), 'utf8')) ?? [];
    expect(lines.trim().split('\n')).toHaveLength(3);
    const script = join(folder, 'use.mjs');
    await writeFile(script, `${lines}console.log(uri);\nawait cluster.close();\n`);
    expect((await run(process.execPath, [script])).stdout).toMatch(/^mongodb:\/\/127\.0\.0\.1:\d+\n$/);
  });

  it('offers three functions, and no module but the internal ones', async () => {
    const script = join(folder, 'names.mjs');
    await writeFile(
      script,
      `console.log(Object.keys(await import('@convoy/simulator')).sort().join());\n` +
        `await import('@convoy/simulator/cluster/cluster').catch(({ code }) => console.log(code));\n`,
    );
    expect((await run(process.execPath, [script])).stdout).toBe(
      'startCluster,startProcess,startReplicaSet\nERR_PACKAGE_PATH_NOT_EXPORTED\n',
    );
  });
});
