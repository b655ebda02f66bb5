import { dirname, resolve } from 'node:path';

/**
 * A package's module as tests name it: by the package, or by a path to its sources. The package alone is the module of
 * its name; what is not for others is below `internal`.
 */
const named = /^@convoy\/([a-z]+)(?:\/(?:internal\/)?(.*))?$/;
const sourcePath = /^(.*\/packages\/[a-z]+)\/src\/(.*)\.(js|ts)$/;

/** What packages were compiled to, which Node.js loads itself. */
export const compiledPath = /\/packages\/[a-z]+\/dist\//;

/**
 * Where a module that a test imports was compiled to; null for whatever is no source of a package.
 * @param root the repository's folder, with a slash at its end
 * @param importer the file that imports it
 */
export function compiledModule(root: string, source: string, importer: string | undefined): string | null {
  const [, name, module = name] = named.exec(source) ?? [];
  if (name !== undefined) return `${root}packages/${name}/dist/${module}.js`;
  if (!source.startsWith('.') || importer === undefined) return null;
  const [, folder, path] = sourcePath.exec(resolve(dirname(importer), source)) ?? [];
  return folder === undefined || path === undefined ? null : `${folder}/dist/${path}.js`;
}
