import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { onSupportedNode, runNpm } from './own-node.mjs';
import { root, runNode } from './process.mjs';

/**
 * Makes a fresh clone runnable: installs what the lock file names, compiles.
 * Prints each step with its time. Takes a fraction of a second when there is nothing to do.
 * @param {string[]} projects TypeScript projects to compile; none stands for all, the tests included
 * @returns {Promise<void>}
 * @throws {Error} with one sentence that says what to do
 */
export async function setUp(projects = []) {
  if (!isInstalled()) await timed('Installing packages (npm ci)', installPackages);
  await timed('Compiling (tsc -b)', () => compile(projects));
}

/**
 * True when every package of the lock file lies in node_modules in the locked version, as npm's own record there says.
 */
function isInstalled() {
  const record = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const present = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (!path.startsWith('node_modules/') || entry.optional || entry.devOptional) return true;
    return present[path]?.version === entry.version && existsSync(join(root, path));
  });
}

async function installPackages() {
  if ((await runNpm(['ci'])) !== 0)
    throw new Error(
      'The packages could not be installed: npm ci failed, its output is above. Check the connection to the package ' +
        'registry and run the command again.',
    );
}

/** By TypeScript 7, on all cores. The linter, and tests that read sources, still need the modules of TypeScript 6. */
async function compile(projects) {
  const exit = await runNode(join('node_modules', 'typescript-native', 'bin', 'tsc'), ['-b', ...projects]);
  if (exit !== 0) throw new Error('The sources do not compile: the errors are above.');
}

/**
 * @param {string} title
 * @param {() => Promise<void>} step
 */
async function timed(title, step) {
  const start = performance.now();
  process.stdout.write(`${title} …\n`);
  await step();
  process.stdout.write(`${title}: ${((performance.now() - start) / 1000).toFixed(1)} s\n`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    process.exitCode = await onSupportedNode('scripts/setup.mjs', [], async () => {
      await setUp();
      return 0;
    });
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
