import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../process.mjs';
import { npm } from './npm.mjs';

/** What is published, each after all that it needs. */
export const publishedFolders = ['api', 'simulator', 'testbed', 'probes', 'instance', 'coordinator', 'cli'].map(
  (name) => `packages/${name}`,
);

/**
 * @typedef {object} Tarball
 * @property {string} name of the package
 * @property {string} path of the tarball
 * @property {string} folder of the package in the repository
 * @property {string[]} files paths in the package
 */

/**
 * Packs every package as it would be published, from what was compiled.
 * @param {string} folder where the tarballs go
 * @returns {Promise<Tarball[]>} in the order of `publishedFolders`
 */
export async function packAll(folder) {
  const chosen = publishedFolders.flatMap((path) => ['--workspace', path]);
  const packed = JSON.parse(await npm(['pack', '--json', '--pack-destination', folder, ...chosen]));
  const list = Array.isArray(packed) ? packed : Object.values(packed);
  return publishedFolders.map((path) => {
    const { name } = manifestOf(path);
    const { filename, files } = list.find((each) => each.name === name);
    return { name, path: join(folder, filename), folder: path, files: files.map((file) => file.path) };
  });
}

/** @param {string} folder of a package, from the repository's folder on; the repository itself when it is empty */
export function manifestOf(folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}
