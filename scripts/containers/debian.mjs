import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { output, succeeds } from './command.mjs';

/** Whose `docker-compose` has `up --wait`; older releases have a Python program of this name. */
const composeSuite = 'trixie';

/** Options of apt that leave the system's own state alone: what it downloads goes to a folder, and locks nothing. */
const apart = (folder) => ['-o', `Dir::Cache::archives=${folder}`, '-o', 'Debug::NoLocking=1'];

/** True where packages of Debian can be downloaded and run without installing them: by root on a Debian system. */
export async function hasDebianPackages() {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return (await succeeds('apt-get', ['--version'])) && (await mirror()) !== undefined;
}

/**
 * Unpacks packages with all that they need and this system lacks, without installing them.
 * @param {string} folder where `root` and `launch` will be
 * @param {string[]} names
 * @returns {Promise<{ path: string, env: Record<string, string> }>} the folder with `usr` below, and what its programs
 * need in the environment
 */
export async function unpackPackages(folder, names) {
  const target = join(folder, 'packages');
  if (!existsSync(target)) {
    const work = join(folder, 'packages-unpacking');
    const archives = join(work, 'archives');
    rmSync(work, { recursive: true, force: true });
    mkdirSync(join(archives, 'partial'), { recursive: true });
    await output('apt-get', ['update']);
    const install = ['install', '--yes', '--no-install-recommends', '--download-only'];
    await output('apt-get', [...apart(archives), ...install, ...names]);
    await unpackAll(archives, join(work, 'root'));
    await downloadCompose(work);
    await unpackAll(join(work, 'compose'), join(work, 'root'));
    rmSync(archives, { recursive: true });
    // One rename, so that interrupted runs never leave an incomplete folder.
    renameSync(work, target);
  }
  return unpacked(join(target, 'root'));
}

/** Address of the Debian archive that this system uses. */
export async function mirror() {
  const format = '$(REPO_URI) $(ORIGIN) $(COMPONENT)';
  const targets = await output('apt-get', ['indextargets', '--format', format, 'Created-By: Packages']).catch(() => '');
  return /^(\S+) Debian main$/m.exec(targets)?.[1];
}

async function unpackAll(from, to) {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from).filter((name) => name.endsWith('.deb')))
    await output('dpkg-deb', ['-x', join(from, name), to]);
}

/** Debian's Compose of a release that has the present one, whatever the release of this system. */
async function downloadCompose(work) {
  const folder = join(work, 'compose');
  mkdirSync(join(folder, 'lists', 'partial'), { recursive: true });
  const sources = join(folder, 'sources.list');
  writeFileSync(sources, `deb ${await mirror()} ${composeSuite} main\n`);
  const options = [
    ['Dir::Etc::sourcelist', sources],
    ['Dir::Etc::sourceparts', '-'],
    ['Dir::State::lists', join(folder, 'lists')],
    ['Dir::Cache::pkgcache', ''],
    ['Dir::Cache::srcpkgcache', ''],
  ].flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await output('apt-get', [...options, ...apart(folder), 'update']);
  await output('apt-get', [...options, ...apart(folder), 'download', 'docker-compose'], { cwd: folder });
}

function unpacked(path) {
  const bin = join(path, 'usr', 'bin');
  const sbin = join(path, 'usr', 'sbin');
  const libraries = ['usr/lib', 'lib'].map((name) => join(path, name)).filter((name) => existsSync(name));
  const triplets = libraries.flatMap((name) => readdirSync(name).map((inner) => join(name, inner)));
  return {
    path,
    env: {
      PATH: `${process.env.PATH}:/usr/sbin:/sbin:${sbin}:${bin}`,
      LD_LIBRARY_PATH: [...libraries, ...triplets].join(':'),
      XTABLES_LIBDIR: triplets.map((name) => join(name, 'xtables')).find((name) => existsSync(name)) ?? '',
      DEBOOTSTRAP_DIR: join(path, 'usr/share/debootstrap'),
    },
  };
}
