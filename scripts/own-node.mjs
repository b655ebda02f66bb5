import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { root, run, runNode } from './process.mjs';

/** Oldest Node.js that is supported. */
const versionMin = [22, 12];
/** What an older one fetches through npm. */
const ownVersion = '24.21.0';

/**
 * Runs a script with a supported Node.js: this one, or one that npm fetches into `.cache`.
 * @param {string} script path, relative to the repository's folder
 * @param {string[]} args
 * @param {() => Promise<number>} start what the script does, when this Node.js is supported
 * @returns {Promise<number>} exit code
 * @throws {Error} with one sentence that says what to do
 */
export async function onSupportedNode(script, args, start) {
  if (isSupported(process.versions.node)) {
    process.env.NODE_COMPILE_CACHE ??= join(root, '.cache', 'compiled');
    return start();
  }
  const node = await ownNode();
  const PATH = `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`;
  return run(node, [join(root, script), ...args], { env: { PATH } });
}

/** @param {string} version such as `22.12.0` */
export function isSupported(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin, minorMin] = versionMin;
  return major > majorMin || (major === majorMin && minor >= minorMin);
}

/** The path of the own Node.js, which is fetched when it is not there. */
async function ownNode() {
  const folder = join(root, '.cache', `node-${ownVersion}`);
  const node = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (existsSync(node)) return node;
  console.log(`Fetching Node.js ${ownVersion} through npm, since this is ${process.versions.node} …`);
  const exit = await runNpm(['install', '--prefix', folder, '--no-save', '--no-package-lock', `node@${ownVersion}`]);
  if (exit === 0 && existsSync(node)) return node;
  throw new Error(
    `Convoy needs Node.js ${versionMin.join('.')} or later; this is ${process.versions.node}, and npm could not ` +
      'fetch another one (its output is above). Install a newer Node.js and run the command again.',
  );
}

/**
 * Runs npm with this Node.js: the npm that started this process, where one did.
 * @param {string[]} args
 */
export function runNpm(args) {
  const npm = process.env.npm_execpath;
  return npm?.endsWith('.js') ? runNode(npm, args) : run('npm', args);
}
