import { ConvoyError } from '@convoy/api/errors/convoy-error';
import type { NamePattern, NamespaceSelector } from '@convoy/api/contract/filter';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { RE2JS } from 're2js';

/** Decides which collections a migration is about. Fixed after start. */
export interface NamespaceFilter {
  /** Whether a collection or view is migrated. Database and collection names are case-sensitive. */
  includes(database: string, collection: string): boolean;
  /** Whether anything of a database can be included: false spares listing its collections. */
  mayInclude(database: string): boolean;
}

/** Databases that are never migrated: the server's own, and Convoy's state. */
const RESERVED_DATABASES: ReadonlySet<string> = new Set(['admin', 'config', 'local', 'convoy_metadata']);

/** Option letters that the linear-time engine knows, with its flags. `u` changes nothing: names are UTF-8 anyway. */
const OPTION_FLAGS: Readonly<Record<string, number>> = {
  i: RE2JS.CASE_INSENSITIVE,
  m: RE2JS.MULTILINE,
  s: RE2JS.DOTALL,
  u: 0,
};

type NameTest = (name: string) => boolean;

interface CompiledSelector {
  database: NameTest;
  collection: NameTest;
}

/** Whether a database is the server's own or holds Convoy's state. */
export function isReservedDatabase(database: string): boolean {
  return RESERVED_DATABASES.has(database);
}

/** Collections under which the server builds the result of `$out`, `convertToCapped` or a rename across databases. */
const TEMPORARY_COLLECTION = /^tmp(?:\.agg_out\.|[A-Za-z0-9]{5}\.(?:convertToCapped|renameCollection)\.?)/;

/**
 * Whether a collection is the server's own (`system.views`, buckets of time series, what it builds under a temporary
 * name, …); `system.js` holds users' data.
 */
export function isReservedCollection(collection: string): boolean {
  return (collection.startsWith('system.') && collection !== 'system.js') || TEMPORARY_COLLECTION.test(collection);
}

/**
 * Compiles the filter of a start request: first what is included (everything, when nothing is named), then less what is
 * excluded. Inside one element `collections` and `collectionsRegex` are a union. Reserved names are never included.
 * Patterns match anywhere in a name unless anchored, in time linear in its length.
 * @throws ConvoyError `filterPatternInvalid` for a pattern or option letter that the linear-time engine does not have
 */
export function compileNamespaceFilter(
  request: Pick<StartRequest, 'includeNamespaces' | 'excludeNamespaces'>,
): NamespaceFilter {
  const include = request.includeNamespaces.map(compileSelector);
  const exclude = request.excludeNamespaces.map(compileSelector);
  const selects = (selectors: CompiledSelector[], database: string, collection: string): boolean =>
    selectors.some((selector) => selector.database(database) && selector.collection(collection));
  const mayInclude = (database: string): boolean =>
    !isReservedDatabase(database) && (include.length === 0 || include.some((selector) => selector.database(database)));
  return {
    mayInclude,
    includes: (database, collection) =>
      mayInclude(database) &&
      !isReservedCollection(collection) &&
      (include.length === 0 || selects(include, database, collection)) &&
      !selects(exclude, database, collection),
  };
}

function compileSelector(selector: NamespaceSelector): CompiledSelector {
  const database = compileDatabaseTest(selector);
  const names = new Set(selector.collections ?? []);
  const pattern = selector.collectionsRegex === undefined ? undefined : compilePattern(selector.collectionsRegex);
  if (selector.collections === undefined && pattern === undefined) return { database, collection: () => true };
  return { database, collection: (name) => names.has(name) || (pattern?.(name) ?? false) };
}

function compileDatabaseTest(selector: NamespaceSelector): NameTest {
  if (selector.databaseRegex !== undefined) return compilePattern(selector.databaseRegex);
  return (name) => name === selector.database;
}

function compilePattern({ pattern, options }: NamePattern): NameTest {
  let flags = 0;
  for (const letter of options) {
    const flag = OPTION_FLAGS[letter];
    if (flag === undefined) {
      throw new ConvoyError(
        'filterPatternInvalid',
        `The option letter ${letter} of the pattern ${quoted(pattern)} is not available; use i, m and s.`,
      );
    }
    flags |= flag;
  }
  try {
    const compiled = RE2JS.compile(pattern, flags);
    return (name) => compiled.matcher(name).find();
  } catch (cause) {
    throw new ConvoyError(
      'filterPatternInvalid',
      `The pattern ${quoted(pattern)} cannot be compiled by the linear-time engine; back-references and look-around are not available.`,
      { cause },
    );
  }
}

/** Longest part of a pattern that is repeated in a description. */
const PATTERN_SHOWN_CHARACTERS_MAX = 100;

function quoted(pattern: string): string {
  return JSON.stringify(pattern.slice(0, PATTERN_SHOWN_CHARACTERS_MAX));
}
