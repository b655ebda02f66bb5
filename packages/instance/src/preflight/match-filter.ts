import type { NamePattern, NamespaceSelector } from '@convoy/api/contract/filter';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { namespaceOf, type Catalog, type CatalogEntry } from '../catalog/namespace.js';
import { compileNamespaceFilter } from '../catalog/namespace-filter.js';

/**
 * The parts of `includeNamespaces` that select nothing of a catalog, in words: whole elements, and single names in
 * `collections`.
 */
export function unmatchedParts(catalog: Catalog, { includeNamespaces }: StartRequest): string[] {
  return includeNamespaces.flatMap((selector) => {
    if (!matchesAny(catalog, selector)) return [inWords(selector)];
    const { database, collections = [] } = selector;
    if (database === undefined) return [];
    return collections
      .filter((name) => !catalog.some((entry) => entry.database === database && entry.name === name))
      .map((name) => `${database}.${name}`);
  });
}

function matchesAny(catalog: Catalog, selector: NamespaceSelector): boolean {
  const filter = compileNamespaceFilter({ includeNamespaces: [selector], excludeNamespaces: [] });
  return catalog.some(({ database, name }) => filter.includes(database, name));
}

function inWords({ database, databaseRegex, collections = [], collectionsRegex }: NamespaceSelector): string {
  const where = databaseRegex === undefined ? (database ?? '') : `databases like ${pattern(databaseRegex)}`;
  const what = [...collections, ...(collectionsRegex === undefined ? [] : [`names like ${pattern(collectionsRegex)}`])];
  return what.length === 0 ? where : `${what.join(', ')} of ${where}`;
}

function pattern(of: NamePattern): string {
  return `/${of.pattern}/${of.options}`;
}

/**
 * Views of a catalog that read collections or views outside it: on the destination they lack this data.
 * @returns texts such as `shop.recent (reads shop.orders)`
 */
export function viewsWithoutSources(catalog: Catalog): string[] {
  const present = new Set(catalog.map(namespaceOf));
  return catalog
    .filter(({ type }) => type === 'view')
    .flatMap((view) => {
      const absent = [...sourcesOf(view)].filter((source) => !present.has(source));
      return absent.length === 0 ? [] : [`${namespaceOf(view)} (reads ${absent.join(', ')})`];
    });
}

/** Namespaces that a view reads: its own source, and those that its pipeline joins. All are in its database. */
function sourcesOf({ database, options }: CatalogEntry): Set<string> {
  const names = new Set<string>();
  if (typeof options.viewOn === 'string') names.add(options.viewOn);
  addJoined(options.pipeline, names);
  return new Set([...names].map((name) => `${database}.${name}`));
}

function addJoined(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) value.forEach((inner) => addJoined(inner, names));
  if (!(value instanceof Map)) return;
  for (const [field, inner] of value as ReadonlyMap<string, unknown>) {
    const joined: unknown =
      joinFields[field] === undefined || !(inner instanceof Map) ? null : inner.get(joinFields[field]);
    for (const name of [joined, field === '$unionWith' ? inner : null]) if (typeof name === 'string') names.add(name);
    addJoined(inner, names);
  }
}

/** Stages that read another collection, with the field that names it; `$unionWith` may also be the name itself. */
const joinFields: Readonly<Record<string, string>> = { $lookup: 'from', $graphLookup: 'from', $unionWith: 'coll' };
