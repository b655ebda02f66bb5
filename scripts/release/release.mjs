import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { npm } from '../packages/npm.mjs';
import { root } from '../process.mjs';
import { buildImage, packChart, packPackages, writeBillOfMaterials, writeChecksums } from './artifacts.mjs';
import { sectionOf } from './changelog.mjs';
import { repositoryUrl, requireTaggedCommit } from './repository.mjs';
import { commonVersion, setVersion } from './versions.mjs';

/** Git ignores it. */
const outputFolder = '.release';

/**
 * Makes a release of the sources as they are, in `.release/VERSION`: tarballs of the packages, bill of materials, Helm
 * chart, image, release notes and checksums.
 * @param {string[]} args `--dry-run` publishes nothing and takes changes that are not committed; `--publish` publishes
 * the tarballs to npm with their provenance, which only a workflow can attest; `--set-version X` only gives everything
 * a new version
 * @returns {Promise<number>} exit code
 */
export async function release(args) {
  const { values } = parseArgs({
    args,
    options: {
      'dry-run': { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
      'set-version': { type: 'string' },
    },
  });
  if (values['set-version'] !== undefined) return changeVersion(values['set-version']);
  const isDry = values['dry-run'];
  if (isDry && values.publish)
    throw new Error('--dry-run publishes nothing: leave out one of --dry-run and --publish.');
  const version = commonVersion();
  const { date, notes } = sectionOf(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), version);
  const repository = repositoryUrl();
  if (!isDry) requireReleasable(version, date, repository);
  const { folder, tarballs } = await make(version, notes, repository);
  for (const { path, name } of values.publish ? tarballs : []) await publish(path, name, version);
  console.log(
    isDry ? `Dry run: nothing was published. ${folder} has the release ${version}.` : closing(values, folder),
  );
  return 0;
}

async function changeVersion(version) {
  setVersion(version);
  await npm(['install', '--package-lock-only', '--ignore-scripts']);
  console.log(`Everything has the version ${commonVersion()}. CHANGELOG.md needs a section "## [${version}] - DATE".`);
  return 0;
}

function requireReleasable(version, date, repository) {
  requireTaggedCommit(version);
  if (date === undefined)
    throw new Error(`CHANGELOG.md gives ${version} no date: write "## [${version}] - YYYY-MM-DD".`);
  if (repository === undefined)
    throw new Error('The address of the repository is unknown: add a remote origin, or use --dry-run.');
}

async function make(version, notes, repository) {
  const folder = join(root, outputFolder, version);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const tarballs = await packPackages(folder, repository);
  for (const { path } of tarballs) report(path);
  report(await writeBillOfMaterials(folder, version));
  report(packChart(folder, version));
  const image = buildImage(folder, version);
  if (image === undefined) console.log('  skipped: the image (no Docker answers)');
  else report(image);
  const notesFile = join(folder, 'release-notes.md');
  writeFileSync(notesFile, `${notes}\n`);
  report(notesFile);
  report(writeChecksums(folder));
  if (repository === undefined) console.log('  skipped: the address of the repository in manifests (no remote origin)');
  return { folder: join(outputFolder, version), tarballs };
}

function report(path) {
  const kilobyte = 1024;
  console.log(`  ${basename(path)} (${Math.ceil(statSync(path).size / kilobyte)} kB)`);
}

/** Provenance names the workflow, the commit and the repository that a tarball was made by. */
async function publish(tarball, name, version) {
  if (await isPublished(name, version)) {
    console.log(`  ${name} ${version} was published before`);
    return;
  }
  await npm(['publish', tarball, '--provenance', '--access', 'public']);
  console.log(`  published ${basename(tarball)}`);
}

/** A release that broke off is run again: what it has published stays. */
async function isPublished(name, version) {
  try {
    return (await npm(['view', `${name}@${version}`, 'version'])).trim() === version;
  } catch (error) {
    if (String(error.stderr).includes('E404')) return false;
    throw error;
  }
}

function closing({ publish: isPublished }, folder) {
  return isPublished ? `Published. ${folder} has the release.` : `${folder} has the release; --publish publishes it.`;
}
