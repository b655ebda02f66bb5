import type { NamePattern, NamespaceSelector } from '@convoy/api/contract/filter';
import { remapText } from '@convoy/api/contract/namespace-remap';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { type Catalog, type CatalogEntry, namespaceOf } from '../catalog/namespace.js';
import { nameSome } from '../catalog/name-some.js';
import { compileNamespaceFilter } from '../catalog/namespace-filter.js';
import { viewSources } from '../catalog/views.js';

/**
 * The parts of a list like `includeNamespaces` that select nothing of a catalog, in words: whole elements, and single
 * names in `collections`.
 */
export function unmatchedParts(catalog: Catalog, selectors: readonly NamespaceSelector[]): string[] {
  return selectors.flatMap((selector) => {
    if (!matchesAny(catalog, selector)) return [inWords(selector)];
    const { database, collections = [] } = selector;
    if (database === undefined) return [];
    return collections
      .filter((name) => !catalog.some((entry) => entry.database === database && entry.name === name))
      .map((name) => `${database}.${name}`);
  });
}

/** The elements of `namespaceRemap` that no collection or view of a catalog has to do with. */
export function unmatchedRemaps(catalog: Catalog, { namespaceRemap = [] }: StartRequest): string[] {
  return namespaceRemap
    .map(({ from }) => from)
    .filter(
      ({ database, collection }) =>
        !catalog.some(
          (entry) => entry.database === database && (collection === undefined || entry.name === collection),
        ),
    )
    .map(remapText);
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

/** Name of the warning about views without the collections that they read. */
export const blindViewsWarning = 'viewSourceLeftOut';

/**
 * Names the views of a filtered catalog that read collections or views outside it: on the destination they lack this
 * data.
 * @param others namespaces that another warning names
 * @returns null if there is none
 */
export function describeBlindViews(catalog: Catalog, others: readonly string[] = []): string | null {
  const blind = viewsWithoutSources(catalog, others);
  if (blind.length === 0) return null;
  return (
    `The filter excludes what these views read: ${nameSome(blind)}. The views would be empty or incomplete on ` +
    'the destination. Include what they read, or exclude the views.'
  );
}

/** @returns texts such as `shop.recent (reads shop.orders)` */
function viewsWithoutSources(catalog: Catalog, others: readonly string[]): string[] {
  const present = new Set([...catalog.map(namespaceOf), ...others]);
  return catalog
    .filter(({ type }) => type === 'view')
    .flatMap((view) => {
      const absent = [...sourcesOf(view)].filter((source) => !present.has(source));
      return absent.length === 0 ? [] : [`${namespaceOf(view)} (reads ${absent.join(', ')})`];
    });
}

/** Namespaces that a view reads; all are in its database. */
function sourcesOf(view: CatalogEntry): Set<string> {
  const { viewOn, joined } = viewSources(view);
  return new Set([...(viewOn === null ? [] : [viewOn]), ...joined].map((name) => `${view.database}.${name}`));
}
