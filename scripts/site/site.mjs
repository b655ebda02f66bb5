import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { onSupportedNode, runNpm } from '../own-node.mjs';
import { root, runNode } from '../process.mjs';
import { checkLinks } from './links.mjs';
import { stage } from './stage.mjs';

/** Its packages are fetched here, and nothing else of the repository needs them. */
const folder = join(root, '.cache', 'site');
const outDir = join(root, 'dist', 'site');
const vitepress = join(folder, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
/** Packages that a network does not yield are no fault of the documents. */
export const notFetched = 3;

const usage = `npm run site -- [options]
  --base /convoy/   path below which the site is served (/)
  --serve           serves the built site on this machine until Ctrl-C`;

/**
 * Renders all documents as a static site, and follows every link in it.
 * @param {string[]} args
 * @returns {Promise<number>} exit code: 1 when it cannot be built or a link is wrong, 3 without its packages
 */
export async function buildSite(args) {
  const { values } = parseArgs({
    args,
    options: { base: { type: 'string', default: '/' }, serve: { type: 'boolean' }, help: { type: 'boolean' } },
  });
  if (values.help) {
    console.log(usage);
    return 0;
  }
  const base = `/${values.base}/`.replace(/\/+/g, '/');
  const start = performance.now();
  if (!(await installPackages())) return notFetched;
  rmSync(outDir, { recursive: true, force: true });
  stage(folder, { base, outDir });
  if ((await runNode(vitepress, ['build', folder])) !== 0) return 1;
  const { links, wrong } = checkLinks(outDir, base);
  for (const line of wrong) console.error(line);
  const time_s = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`site: ${outDir}, ${links} links followed, ${wrong.length} wrong (${time_s} s)`);
  if (wrong.length > 0) return 1;
  return values.serve ? runNode(vitepress, ['preview', folder]) : 0;
}

/** Installs exactly what the site's own lock file names, unless it is there; false without a network. */
async function installPackages() {
  const lock = 'package-lock.json';
  const wanted = readFileSync(join(root, 'site', lock), 'utf8');
  const record = join(folder, lock);
  const isThere = existsSync(vitepress) && existsSync(record) && readFileSync(record, 'utf8') === wanted;
  if (isThere) return true;
  console.log('Fetching what renders the documents, through npm …');
  mkdirSync(folder, { recursive: true });
  rmSync(record, { force: true });
  for (const name of ['package.json', '.npmrc', lock]) copyFileSync(join(root, 'site', name), join(folder, name));
  const exit = await runNpm(['ci', '--prefix', folder]);
  if (exit === 0) return true;
  rmSync(record, { force: true });
  console.error('The packages that render the documents could not be fetched: the output of npm is above.');
  return false;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const args = process.argv.slice(2);
  try {
    process.exitCode = await onSupportedNode('scripts/site/site.mjs', args, () => buildSite(args));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
