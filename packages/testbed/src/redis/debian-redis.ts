import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { RedisProgram } from './redis-server.js';

const execFileAsync = promisify(execFile);

const cacheFolder = fileURLToPath(new URL('../../../../.cache/', import.meta.url));
const download_ms = 120_000;

/**
 * Unpacks Debian's `redis-server` with its libraries into `.cache/redis`, without installing it.
 * @returns undefined on systems without Debian's packages, or when the download fails
 */
export async function unpackDebianRedis(): Promise<RedisProgram | undefined> {
  const folder = join(cacheFolder, 'redis');
  if (!existsSync(folder)) {
    mkdirSync(cacheFolder, { recursive: true });
    const work = mkdtempSync(join(cacheFolder, 'redis-unpacking-'));
    try {
      await download(work);
      // One rename, so that interrupted or concurrent runs never leave an incomplete folder.
      if (!existsSync(folder)) renameSync(join(work, 'root'), folder);
    } catch {
      return undefined;
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  }
  return { path: writeLauncher(folder), origin: "Debian's package, unpacked into .cache" };
}

/** A program `redis-server` that finds its libraries, in its own folder for the PATH. */
function writeLauncher(folder: string): string {
  const bin = join(folder, 'launcher');
  const path = join(bin, 'redis-server');
  mkdirSync(bin, { recursive: true });
  writeFileSync(
    path,
    `#!/bin/sh\nLD_LIBRARY_PATH='${libraryPath(folder)}' exec '${join(folder, 'usr/bin/redis-server')}' "$@"\n`,
    { mode: 0o755 },
  );
  return path;
}

async function download(work: string): Promise<void> {
  if (process.getuid?.() === 0) await execFileAsync('apt-get', ['update'], { timeout: download_ms });
  const packages = ['redis-server', 'redis-tools', ...(await missingLibraries())];
  await execFileAsync('apt-get', ['download', ...packages], { cwd: work, timeout: download_ms });
  for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
    await execFileAsync('dpkg-deb', ['-x', join(work, file), join(work, 'root')]);
  }
}

/** Libraries that Redis needs and this system lacks. Of alternatives, which apt marks with a bar, the first. */
async function missingLibraries(): Promise<string[]> {
  const { stdout } = await execFileAsync('apt-cache', ['depends', 'redis-tools']);
  const names = stdout.split('\n').flatMap((line, index, lines) => {
    const isAlternative = lines[index - 1]?.startsWith(' |Depends:') ?? false;
    const name = /^ [ |]Depends: ((?:lib|lua)\S+)$/.exec(line)?.[1];
    return name === undefined || isAlternative ? [] : [name];
  });
  const installed = await Promise.all(names.map(isInstalled));
  return names.filter((_, index) => !installed[index]);
}

async function isInstalled(name: string): Promise<boolean> {
  try {
    const { stdout } = await execFileAsync('dpkg-query', ['--show', '--showformat=${Status}', name]);
    return stdout.endsWith('ok installed');
  } catch {
    return false;
  }
}

/** Folders with shared libraries below `usr/lib` and `lib`, for example `usr/lib/x86_64-linux-gnu`. */
function libraryPath(folder: string): string {
  const parents = [join(folder, 'usr/lib'), join(folder, 'lib')].filter((path) => existsSync(path));
  const triplets = parents.flatMap((path) => readdirSync(path).map((name) => join(path, name)));
  return [...parents, ...triplets].join(':');
}
