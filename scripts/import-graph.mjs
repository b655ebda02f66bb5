import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { root } from './process.mjs';

/** What names another module: imports, exports and paths, also of compiled programs that are started. */
const specifiers = /(?:from|import|import\(|new URL\()\s*['"]([^'"\n]+)['"]/g;

/**
 * Who loads whom: for each file, the files that name it as a module or as a compiled program.
 * @param {readonly string[]} files paths from the repository's folder on, with slashes
 * @returns {Map<string, Set<string>>}
 */
export function importersOf(files) {
  const known = new Set(files);
  const importers = new Map();
  for (const file of files.filter((path) => /\.(ts|mts|mjs|js)$/.test(path))) {
    for (const [, specifier] of readFileSync(join(root, file), 'utf8').matchAll(specifiers)) {
      const target = sourceOf(file, specifier);
      if (target !== undefined && known.has(target))
        importers.set(target, (importers.get(target) ?? new Set()).add(file));
    }
  }
  return importers;
}

/** All files that load one of these, directly or through others, and these themselves. */
export function reachedFrom(files, importers) {
  const reached = new Set(files);
  for (const file of reached) for (const importer of importers.get(file) ?? []) reached.add(importer);
  return reached;
}

/** The source that a specifier stands for; undefined for packages of others. */
function sourceOf(from, specifier) {
  const own = /^@convoy\/([a-z]+)(?:\/(?:internal\/)?(.+))?$/.exec(specifier);
  if (own) return `packages/${own[1]}/src/${own[2] ?? own[1]}.ts`;
  if (!specifier.startsWith('.')) return undefined;
  const path = posix.join(posix.dirname(from), specifier).replace('/dist/', '/src/');
  return existsSync(join(root, path)) ? path : path.replace(/\.js$/, '.ts');
}
