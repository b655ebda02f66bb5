import { isDeepStrictEqual } from 'node:util';
import { ConvoyError, isConvoyError } from '@convoy/api/errors/convoy-error';
import { shownName } from '../cluster/time-series.js';
import { classify, codeOf, failureName, noQueryPlanCode, serverErrorCode } from '../cluster/failure.js';
import { knownFailure } from '../cluster/named-failure.js';
import { isSimpleCollation } from './index-plan.js';
import { nameSome } from './name-some.js';
import { type Catalog, type CatalogEntry, namespaceOf } from './namespace.js';

/** Names in a view's database that it reads: its own source, and what its pipeline joins. */
interface ViewSources {
  /** Null for a collection. */
  viewOn: string | null;
  joined: ReadonlySet<string>;
}

/** @param view with its options as `decodeListedCollection` decodes them */
export function viewSources({ options }: Pick<CatalogEntry, 'options'>): ViewSources {
  const joined = new Set<string>();
  addJoined(options.pipeline, joined);
  return { viewOn: typeof options.viewOn === 'string' ? options.viewOn : null, joined };
}

function addJoined(value: unknown, names: Set<string>): void {
  if (Array.isArray(value)) value.forEach((inner) => addJoined(inner, names));
  if (!(value instanceof Map)) return;
  for (const [field, inner] of value as ReadonlyMap<string, unknown>) {
    const joined: unknown =
      JOIN_FIELDS[field] === undefined || !(inner instanceof Map) ? null : inner.get(JOIN_FIELDS[field]);
    for (const name of [joined, field === '$unionWith' ? inner : null]) if (typeof name === 'string') names.add(name);
    addJoined(inner, names);
  }
}

/** Stages that read another collection, with the field that names it; `$unionWith` may also be the name itself. */
const JOIN_FIELDS: Readonly<Record<string, string>> = { $lookup: 'from', $graphLookup: 'from', $unionWith: 'coll' };

/** What says nothing about a definition; SearchNotEnabled (31082): of views of `$search` that cannot run here. */
const otherCodes: ReadonlySet<number | null> = new Set([
  null,
  serverErrorCode.namespaceExists,
  noQueryPlanCode,
  31_082,
]);

/** Whether a server refuses the definition of a collection or view. */
export function isDefinitionRefusal(error: unknown): boolean {
  return classify(error) === 'fatal' && !otherCodes.has(codeOf(error));
}

/** The failure of a collection or view that the destination refuses, with its name; any other as it is. */
export function namingRefused(entry: CatalogEntry, failure: unknown): unknown {
  if (!isDefinitionRefusal(failure) || knownFailure(failure) !== null) return failure;
  const isView = entry.type === 'view';
  return new ConvoyError(
    isView ? 'viewNotSupported' : 'collectionNotSupported',
    `The destination refuses the ${isView ? 'view' : 'collection'} ${shownName(entry)}: ${failureName(failure)}. ` +
      `Correct ${isView ? 'or drop it' : 'its options'} on the source, or exclude it.`,
    { cause: failure },
  );
}

/** Whether a view is in the way that somebody can correct while the migration goes on. */
export function isRefusedView(error: unknown): error is ConvoyError {
  return isConvoyError(error, 'viewNotSupported');
}

/** The same, also of a collection that a server has refused (`namingRefused`). */
export function isRefusedDefinition(error: unknown): error is ConvoyError {
  return isRefusedView(error) || (isConvoyError(error, 'collectionNotSupported') && codeOf(error.cause) !== null);
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
  const present = new Set([...catalog.map(shownName), ...others]);
  return catalog
    .filter(({ type }) => type === 'view')
    .flatMap((view) => {
      const absent = [...sourcesOf(view)].filter((source) => !present.has(source));
      return absent.length === 0 ? [] : [`${namespaceOf(view)} (reads ${absent.join(', ')})`];
    });
}

/** Namespaces that a view reads, as users know them; all are in its database. */
function sourcesOf(view: CatalogEntry): Set<string> {
  const { viewOn, joined } = viewSources(view);
  return new Set(
    [...(viewOn === null ? [] : [viewOn]), ...joined].map((name) => shownName({ database: view.database, name })),
  );
}

/**
 * Why servers refuse to create a view, although they read it where an older one has stored it: a view that it reads has
 * another collation.
 * @returns null if they do not
 */
export function collationClash(view: CatalogEntry, catalog: Catalog): string | null {
  const sources = sourcesOf(view);
  const other = catalog.find(
    (entry) => entry.type === 'view' && sources.has(namespaceOf(entry)) && !haveOneCollation(entry, view),
  );
  return other === undefined ? null : `it has another collation than ${namespaceOf(other)}, which it reads`;
}

function haveOneCollation({ options: one }: CatalogEntry, { options: other }: CatalogEntry): boolean {
  return (
    isDeepStrictEqual(one.collation, other.collation) ||
    (isSimpleCollation(one.collation) && isSimpleCollation(other.collation))
  );
}
