import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from '../process.mjs';

const always = ['package.json', 'README.md', 'LICENSE'];
const never = /^(src|test|corpus)\/|\.tsbuildinfo$|\.map$/;

/** What names another module: imports, exports and programs that are started. */
const specifiers = /(?:\bfrom|\bimport|\bimport\(|\bnew URL\(|\.resolve\()\s*['"]([@.\w][\w@./:-]*)['"]/g;

/**
 * What is wrong with the files of a packed package: some are missing, some do not belong there, or one needs a file or
 * a package that an installation would not have.
 * @param {import('./pack.mjs').Tarball} tarball
 * @param {(path: string) => string} read the text of a file by its path in the repository
 * @returns {string[]} a sentence each
 */
export function wrongFilesOf({ name, folder, files }, read = readHere) {
  const packed = new Set(files);
  const missing = always.filter((file) => !packed.has(file)).map((file) => `${name} lacks ${file}.`);
  const foreign = files.filter((file) => never.test(file)).map((file) => `${name} contains ${file}.`);
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(read(`${folder}/package.json`));
  const declared = new Set(Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }));
  const modules = files.filter((file) => /^(dist|bin)\/.*\.m?js$/.test(file) && !isOfBrowsers(file));
  const needed = modules.flatMap((file) =>
    specifiersIn(read(`${folder}/${file}`)).map((specifier) => ({ file, specifier })),
  );
  const wrong = needed
    .filter(({ file, specifier }) => !isThere(file, specifier, { name, packed, declared }))
    .map(({ file, specifier }) => `${name}: ${file} needs ${specifier}, which an installation does not have.`);
  return [...missing, ...foreign, ...wrong];
}

/** The dashboard's modules run in browsers, which resolve packages by a map of the page. */
function isOfBrowsers(file) {
  return file.startsWith('dist/dashboard/');
}

function specifiersIn(text) {
  const code = text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, '');
  return [...code.matchAll(specifiers)].map(([, specifier]) => specifier);
}

function readHere(path) {
  return readFileSync(join(root, path), 'utf8');
}

function isThere(file, specifier, { name, packed, declared }) {
  if (specifier.startsWith('node:')) return true;
  if (specifier.startsWith('.')) {
    const path = posix.join(posix.dirname(file), specifier);
    return path === '.' || path === '..' || path.endsWith('/') || packed.has(path);
  }
  const wanted = specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
  return wanted === name || declared.has(wanted);
}
