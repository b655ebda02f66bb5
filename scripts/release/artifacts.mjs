import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { npm } from '../packages/npm.mjs';
import { manifestOf, packAll, publishedFolders } from '../packages/pack.mjs';
import { root } from '../process.mjs';
import { billOfInstallation } from './bill-of-materials.mjs';

/** Tarballs have one time for all files, as npm's have, so that the same sources give the same checksums. */
const archiveTime = '1985-10-26T08:15:00Z';

/**
 * Packs every package, with the address of the repository in its manifest.
 * @param {string} folder where the tarballs go
 * @param {string | undefined} repository address; manifests have none without it
 * @returns {Promise<import('../packages/pack.mjs').Tarball[]>} each after all that it needs
 */
export async function packPackages(folder, repository) {
  const tarballs = await packAll(folder);
  if (repository !== undefined) for (const { path } of tarballs) await addRepository(path, repository);
  return tarballs;
}

/** Packs a tarball again, with an address in its manifest. */
async function addRepository(tarball, url) {
  await withScratchFolder(async (work) => {
    execFileSync('tar', ['-xzf', tarball, '-C', work]);
    const file = join(work, 'package', 'package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8'));
    manifest.repository.url = url;
    writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
    await npm(['pack', '--ignore-scripts', '--pack-destination', work], { cwd: join(work, 'package') });
    renameSync(join(work, basename(tarball)), tarball);
  });
}

/**
 * Writes the software bill of materials of everything that an installation of the command line brings, in CycloneDX.
 * @returns {Promise<string>} path
 */
export async function writeBillOfMaterials(folder, version) {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--workspace', 'packages/cli', '--package-lock-only'];
  const manifests = publishedFolders.map(manifestOf).map((manifest) => [manifest.name, manifest]);
  const bill = billOfInstallation(JSON.parse(await npm(args)), Object.fromEntries(manifests), '@convoy/cli');
  const path = join(folder, `convoy-${version}.cdx.json`);
  writeFileSync(path, `${JSON.stringify(bill, null, 2)}\n`);
  return path;
}

/**
 * Packs the Helm chart: with Helm where it is installed, otherwise as Helm does.
 * @returns {string} path
 */
export function packChart(folder, version) {
  const path = join(folder, `convoy-chart-${version}.tgz`);
  if (runs('helm', ['version'])) {
    execFileSync('helm', ['package', 'charts/convoy', '--destination', folder], { cwd: root });
    renameSync(join(folder, `convoy-${version}.tgz`), path);
  } else {
    const same = ['--sort=name', '--owner=0', '--group=0', '--numeric-owner', `--mtime=${archiveTime}`];
    execFileSync('tar', [...same, '-czf', path, '-C', 'charts', 'convoy'], { cwd: root });
  }
  return path;
}

/**
 * Builds the container image and saves it.
 * @returns {string | undefined} path; none where no Docker answers
 */
export function buildImage(folder, version) {
  if (!runs('docker', ['info'])) return undefined;
  const path = join(folder, `convoy-image-${version}.tar`);
  execFileSync('docker', ['build', '--tag', `convoy:${version}`, '.'], { cwd: root, stdio: ['ignore', 2, 2] });
  execFileSync('docker', ['save', '--output', path, `convoy:${version}`], { cwd: root });
  return path;
}

/**
 * Writes the checksums of all files of a folder, as `sha256sum --check SHA256SUMS` reads them.
 * @returns {string} path
 */
export function writeChecksums(folder) {
  const path = join(folder, 'SHA256SUMS');
  const files = readdirSync(folder).filter((name) => name !== 'SHA256SUMS');
  const lines = files.sort().map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`);
  writeFileSync(path, lines.join(''));
  return path;
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex');
}

/** Whether a program is installed and answers. */
function runs(command, args) {
  const answersWithin_ms = 10_000;
  try {
    execFileSync(command, args, { stdio: 'ignore', timeout: answersWithin_ms });
    return true;
  } catch {
    return false;
  }
}

async function withScratchFolder(use) {
  const work = mkdtempSync(join(tmpdir(), 'convoy-release-'));
  try {
    await use(work);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
