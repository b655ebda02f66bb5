import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { root } from '../process.mjs';
import { provideRedis } from '../test.mjs';
import { packAll } from './pack.mjs';
import { wrongFilesOf } from './packed-files.mjs';

const execFileAsync = promisify(execFile);

/** Large enough for every collection of the demo, and for a commit under load. */
const demoDocuments = 20_000;
const demoLimit_ms = 300_000;
const stepLimit_ms = 240_000;

/** Modules that users and Convoy's own packages import, beside those in the examples of READMEs. */
const importedModules = [
  '@convoy/api/http/openapi',
  '@convoy/probes/all-probes',
  '@convoy/instance/config/instance-config',
  '@convoy/coordinator/process/coordinator-process',
  '@convoy/testbed/cluster/start-test-cluster',
  '@convoy/cli/program',
];

/**
 * Packs every package, installs the tarballs into an empty folder as a user does, and uses them there: their files are
 * complete, types resolve, the examples of READMEs run, and `npx @convoy/cli demo` ends with two equal clusters.
 * @returns {Promise<number>} exit code
 */
export async function checkPackages() {
  await provideRedis();
  const folder = mkdtempSync(join(tmpdir(), 'convoy-packages-'));
  try {
    const tarballs = await step('packed', () => packAll(folder));
    await step('complete, with all that they import', () => checkFiles(tarballs));
    const user = join(folder, 'user');
    await step('installed into an empty folder', () => install(user, tarballs));
    for (const resolution of ['node16', 'bundler'])
      await step(`typed, as moduleResolution ${resolution} finds them`, () => checkTypes(user, resolution));
    await step('started by the lines of the README of @convoy/simulator', () => runExample(user));
    const { documents } = await step('tried by npx @convoy/cli demo', () => runDemo(user));
    console.log(`packages-check: ${tarballs.length} packages, COMMITTED, ${documents} documents equal`);
    return 0;
  } catch (error) {
    console.error(`packages-check: ${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`);
    return 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * @template Result
 * @param {string} title
 * @param {() => Result | Promise<Result>} action
 */
async function step(title, action) {
  const start = performance.now();
  const result = await action();
  console.log(`  ${title} (${((performance.now() - start) / 1000).toFixed(1)} s)`);
  return result;
}

function checkFiles(tarballs) {
  const wrong = tarballs.flatMap((tarball) => wrongFilesOf(tarball));
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
}

async function install(user, tarballs) {
  mkdirSync(user);
  writeFileSync(join(user, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }));
  const { stderr } = await run('npm', ['install', '--loglevel', 'warn', ...tarballs.map(({ path }) => path)], user);
  // An engine that a dependency refuses, and a script or a peer that it lacks, would be the user's trouble.
  const warnings = stderr.split('\n').filter((line) => /EBADENGINE|ERESOLVE|deprecated/.test(line));
  if (warnings.length > 0) throw new Error(`The installation warns:\n${warnings.join('\n')}`);
}

/** Compiles a module that imports from every package, against the installed types and no skipped ones. */
async function checkTypes(user, moduleResolution) {
  const examples = ['api', 'simulator'].map((name) => `{\n${statementsOf(exampleOf(name))}\n}`);
  const imports = ['api', 'simulator'].flatMap((name) => importsOf(exampleOf(name)));
  const others = importedModules.map((module, index) => `import * as module${index} from '${module}';`);
  const used = `console.log(${importedModules.map((_, index) => `module${index}`).join(', ')});`;
  writeFileSync(join(user, 'use.ts'), [...imports, ...others, used, ...examples].join('\n'));
  const compilerOptions = {
    module: moduleResolution === 'bundler' ? 'esnext' : 'node16',
    moduleResolution,
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable'],
    strict: true,
    noEmit: true,
    types: ['node'],
    typeRoots: [join(root, 'node_modules', '@types')],
  };
  writeFileSync(join(user, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', user], user);
}

/** The first example in JavaScript or TypeScript of a package's README. */
function exampleOf(name) {
  const text = readFileSync(join(root, 'packages', name, 'README.md'), 'utf8');
  const [, example] = /^```[jt]s\n([\s\S]*?)^```/m.exec(text) ?? [];
  if (example === undefined) throw new Error(`The README of @convoy/${name} has no example.`);
  return example;
}

const isImport = (line) => line.startsWith('import ');
const importsOf = (example) => example.split('\n').filter(isImport);
const statementsOf = (example) =>
  example
    .split('\n')
    .filter((line) => !isImport(line))
    .join('\n');

async function runExample(user) {
  const script = join(user, 'example.mjs');
  writeFileSync(script, `${exampleOf('simulator')}console.log(uri);\nawait cluster.close();\n`);
  const { stdout } = await run(process.execPath, [script], user);
  if (!/^mongodb:\/\/127\.0\.0\.1:\d+\n$/.test(stdout)) throw new Error(`The example printed ${stdout}`);
}

/** @returns {Promise<{ documents: number }>} what was compared */
async function runDemo(user) {
  const args = ['@convoy/cli', 'demo', '--documents', String(demoDocuments), '--json'];
  const { stdout, stderr } = await run('npx', args, user, demoLimit_ms);
  const { comparison } = JSON.parse(stdout);
  if (!stderr.includes('COMMITTED') || comparison.equal !== true || !(comparison.documents > 0))
    throw new Error(`The demo did not end with equal clusters:\n${stderr}${stdout}`);
  return comparison;
}

/** A program in the user's folder, without what npm sets for the scripts of this repository. */
function run(command, args, cwd, timeout = stepLimit_ms) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$/.test(name)));
  return execFileAsync(command, args, { cwd, env, timeout, maxBuffer: 64 * 1024 * 1024 });
}
