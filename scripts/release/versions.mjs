import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';

/** Versions as npm, Helm and the changelog all take them. */
const versionPattern = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/;
const chartFile = 'charts/convoy/Chart.yaml';

/** The manifests of the repository, from its folder on. */
export function manifestFiles() {
  const packages = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/package.json`);
  return ['package.json', ...packages.filter((file) => existsSync(join(root, file))).sort(), 'e2e/package.json'];
}

/**
 * The one version of everything that is released.
 * @returns {string}
 * @throws {Error} that lists what has another version than the root's manifest
 */
export function commonVersion() {
  const { version } = JSON.parse(read('package.json'));
  const others = [...manifestFiles().flatMap(versionsIn), ...chartVersions()].filter(([, other]) => other !== version);
  if (others.length === 0) return version;
  const list = others.map(([place, other]) => `  ${place}: ${other}`).join('\n');
  throw new Error(`Versions are not in step with ${version} of package.json:\n${list}`);
}

/**
 * Gives everything a new version: manifests, what they name of each other, and the chart. The lock file follows with
 * `npm install --package-lock-only`.
 * @param {string} version for example 2.1.0
 * @throws {Error} for a version that npm and Helm do not take
 */
export function setVersion(version) {
  if (!versionPattern.test(version))
    throw new Error(`${version} is no version: write three numbers, for example 2.1.0.`);
  for (const file of manifestFiles()) {
    const text = read(file)
      .replace(/^(\s*"version": )"[^"]*"/m, `$1"${version}"`)
      .replace(/("@convoy\/[a-z]+": )"\d[^"]*"/g, `$1"${version}"`);
    writeFileSync(join(root, file), text);
  }
  writeFileSync(join(root, chartFile), read(chartFile).replace(/^(version|appVersion): .*$/gm, `$1: ${version}`));
}

/** @returns {[place: string, version: string][]} a manifest's own version, and those it names of Convoy's packages */
function versionsIn(file) {
  const { version, dependencies, devDependencies } = JSON.parse(read(file));
  const named = Object.entries({ ...dependencies, ...devDependencies }).filter(([name]) => name.startsWith('@convoy/'));
  return [[file, version], ...named.map(([name, other]) => [`${file}, ${name}`, other])];
}

function chartVersions() {
  const lines = [...read(chartFile).matchAll(/^(version|appVersion): (.*)$/gm)];
  return lines.map(([, name, version]) => [`${chartFile}, ${name}`, version]);
}

function read(file) {
  return readFileSync(join(root, file), 'utf8');
}
