import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The shell that this was written against. It stays out of the project's own dependencies: it brings 150 MB. */
const mongoshVersion = '2.12.0';
/** A new fetch takes a minute or two. */
const fetchLimit_ms = 300_000;
const runLimit_ms = 120_000;
/** Exit code for a shell that cannot be fetched, for example without a network: nothing was checked. */
const notFetchedExitCode = 3;
/** The releases of the corpora. */
const releases = ['5.0', '8.0'];

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const cache = join(root, '.cache', `mongosh-${mongoshVersion}`);
const shell = join(cache, 'node_modules', 'mongosh', 'bin', 'mongosh.js');
const simulator = join(root, 'packages', 'simulator', 'dist', 'process.js');
const session = fileURLToPath(new URL('session.js', import.meta.url));

const problem = await fetchShell();
if (problem === undefined) process.exitCode = await checkReleases();
else {
  console.log(`mongosh ${mongoshVersion} could not be fetched, so nothing was checked: ${problem}`);
  process.exitCode = notFetchedExitCode;
}

/** Installs the shell into the cache folder, unless it is there. Gives the reason when that fails. */
async function fetchShell() {
  if (existsSync(shell)) return undefined;
  mkdirSync(cache, { recursive: true });
  writeFileSync(
    join(cache, 'package.json'),
    JSON.stringify({ private: true, dependencies: { mongosh: mongoshVersion } }),
  );
  console.log(`fetching mongosh ${mongoshVersion}`);
  try {
    await promisify(execFile)('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'], {
      cwd: cache,
      timeout: fetchLimit_ms,
    });
    return existsSync(shell) ? undefined : `${shell} is not there after the installation`;
  } catch (error) {
    const lines = String(error.stderr || error.message).split('\n');
    return lines.find((line) => line.startsWith('npm error')) ?? lines[0];
  }
}

async function checkReleases() {
  let failed = 0;
  for (const release of releases) {
    console.log(`mongosh ${mongoshVersion} against a simulated ${release}`);
    const exit = await checkRelease(release);
    if (exit !== 0) failed += 1;
    console.log(exit === 0 ? `${release}: passed` : `${release}: failed (mongosh ended with ${exit})`);
  }
  return failed === 0 ? 0 : 1;
}

async function checkRelease(release) {
  const cluster = spawn(
    process.execPath,
    [simulator, '--shards', '2', '--version', release, '--watch-stdin', '--json'],
    { stdio: ['pipe', 'pipe', 'inherit'] },
  );
  const closed = once(cluster, 'close');
  try {
    const [line] = await Promise.race([
      once(createInterface(cluster.stdout), 'line'),
      closed.then(() => Promise.reject(new Error('the simulator ended'))),
    ]);
    // A home of its own: the shell reads settings there and writes a history.
    const env = { ...process.env, HOME: cache, SIMULATED_VERSION: release };
    const mongosh = spawn(process.execPath, [shell, '--norc', '--quiet', JSON.parse(line).connectionString, session], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env,
      timeout: runLimit_ms,
    });
    const [code, signal] = await once(mongosh, 'close');
    return code ?? signal;
  } finally {
    cluster.stdin.end();
    await closed;
  }
}
