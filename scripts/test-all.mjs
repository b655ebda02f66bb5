import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { notPossible } from './containers/check.mjs';
import { root, runNode } from './process.mjs';
import { notFetched } from './site/site.mjs';
import { add, countsOfProgram, lint, printClosing, provideRedis, runVitest } from './test.mjs';

/** A part that takes longer is killed and counts as failed: parts fit into ten minutes, with room for set-up. */
const partLimit_ms = 9.5 * 60 * 1000;
const stateFile = join(root, '.cache', 'test-all.json');

/**
 * Runs all tests with the full counts of their random cases (CONVOY_TEST_FULL=1), and the linter, in parts.
 * Finished parts are remembered for the present sources, so that a run that was broken off goes on where it was.
 * @param {string[]} args `--part N` runs one part (again), `--list` names them
 * @returns {Promise<number>} exit code: 0 when every part that was run or remembered has passed
 */
export async function runAllTests(args) {
  const { values } = parseArgs({ args, options: { part: { type: 'string' }, list: { type: 'boolean' } } });
  const parts = listParts();
  if (values.list) {
    parts.forEach((part, index) => console.log(`${index + 1}  ${part.name}`));
    return 0;
  }
  const chosen = values.part === undefined ? parts : [parts[Number(values.part) - 1]];
  if (chosen.includes(undefined))
    throw new Error(`There is no part ${values.part}: the parts are 1 to ${parts.length} (--list names them).`);
  return runParts(chosen, values.part !== undefined);
}

async function runParts(parts, again) {
  await provideRedis();
  const state = readState();
  const counts = { passed: 0, failed: 0, failures: [], skipped: [] };
  for (const part of parts) {
    const known = again ? undefined : state.parts[part.name];
    console.log(known ? `${part.name}: passed before` : part.name);
    const result = known ?? (await part.run());
    if (result.failed === 0) remember(state, part.name, result);
    add(counts, result);
  }
  printClosing(counts);
  return counts.failed === 0 && counts.passed > 0 ? 0 : 1;
}

function listParts() {
  const vitest = (name, args) => ({
    name,
    run: () => runVitest(args, { env: { CONVOY_TEST_FULL: '1' }, limit_ms: partLimit_ms }),
  });
  const packages = readdirSync(join(root, 'packages')).sort();
  return [
    { name: 'lint', run: () => lint(['.'], { limit_ms: partLimit_ms }) },
    ...packages.map((name) => vitest(`unit packages/${name}`, [`packages/${name}/test/unit/`])),
    vitest('unit test', testFiles('test')),
    ...packages.flatMap((name) => testFiles(`packages/${name}/test/integration`)).map((file) => vitest(file, [file])),
    { name: 'mongosh against the simulator', run: checkMongosh },
    { name: 'docker-compose.yml in containers', run: checkComposeFile },
    { name: 'alert rules and board with a real Prometheus', run: checkMonitoring },
    { name: 'packages from their tarballs', run: checkInstalledPackages },
    { name: 'documents as a site', run: checkSite },
    ...testFiles('e2e').map((file) => vitest(file, [file])),
  ];
}

function testFiles(folder) {
  if (!existsSync(join(root, folder))) return [];
  const names = readdirSync(join(root, folder), { recursive: true });
  return names
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .sort()
    .map((name) => `${folder}/${name}`);
}

/** Without a network to fetch the shell from, the check is skipped and says so. */
async function checkMongosh() {
  const shellNotFetched = 3;
  const exit = await runNode('packages/simulator/test/mongosh/check.mjs', [], { limit_ms: partLimit_ms });
  if (exit === shellNotFetched) return skipped('mongosh against the simulator: the shell could not be fetched');
  return countsOfProgram('mongosh against the simulator', exit);
}

/** Without a Docker engine the check is skipped and says so. */
async function checkComposeFile() {
  const exit = await runNode('scripts/run.mjs', ['containers-check'], { limit_ms: partLimit_ms });
  if (exit === notPossible) return skipped('docker-compose.yml in containers: no Docker engine could be had');
  return countsOfProgram('docker-compose.yml in containers', exit);
}

/** Without a Prometheus the check is skipped and says so. */
async function checkMonitoring() {
  const name = 'alert rules and board with a real Prometheus';
  const exit = await runNode('scripts/run.mjs', ['monitoring-check'], { limit_ms: partLimit_ms });
  if (exit === notPossible) return skipped(`${name}: there is none on the PATH`);
  return countsOfProgram(name, exit);
}

function skipped(name) {
  return { passed: 0, failed: 0, failures: [], skipped: [name] };
}

async function checkInstalledPackages() {
  const exit = await runNode('scripts/run.mjs', ['packages-check'], { limit_ms: partLimit_ms });
  return countsOfProgram('packages from their tarballs', exit);
}

/** Without a network to fetch its packages from, the check is skipped and says so. */
async function checkSite() {
  const exit = await runNode('scripts/site/site.mjs', [], { limit_ms: partLimit_ms });
  if (exit === notFetched) return skipped('documents as a site: what renders them could not be fetched');
  return countsOfProgram('documents as a site', exit);
}

function readState() {
  const sources = digestOfSources();
  if (existsSync(stateFile)) {
    const state = JSON.parse(readFileSync(stateFile, 'utf8'));
    if (state.sources === sources) return state;
  }
  return { sources, parts: {} };
}

function remember(state, name, counts) {
  state.parts[name] = counts;
  mkdirSync(join(root, '.cache'), { recursive: true });
  writeFileSync(stateFile, JSON.stringify(state, null, 2));
}

/** Digest of the commit and of every change that is not committed. */
function digestOfSources() {
  const git = (...args) => execFileSync('git', args, { cwd: root, maxBuffer: 256 * 1024 * 1024 });
  const untracked = git('ls-files', '--others', '--exclude-standard', '-z').toString().split('\0').filter(Boolean);
  const hash = createHash('sha256').update(git('rev-parse', 'HEAD')).update(git('diff', 'HEAD'));
  for (const file of untracked) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}
