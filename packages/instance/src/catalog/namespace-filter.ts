import { type DocumentFilter, filterText } from '@convoy/api/contract/document-filter';
import type { NamePattern, NamespaceSelector } from '@convoy/api/contract/filter';
import type { StartRequest } from '@convoy/api/contract/start-request';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { BSON, type Document } from 'mongodb';
import { RE2JS } from 're2js';
import { seriesOf, userName } from '../cluster/time-series.js';

/** Decides which collections a migration includes, and which of their documents. Fixed after start. */
export interface NamespaceFilter {
  /** Whether a collection or view is migrated; buckets are as their time series. Names are case-sensitive. */
  includes(database: string, collection: string): boolean;
  /** Whether any collection of a database can be included: false saves listing its collections. */
  mayInclude(database: string): boolean;
  /** The query that chooses the documents of a collection; undefined when all are migrated. */
  documentFilter(database: string, collection: string): Document | undefined;
}

/** Databases that are never migrated: the server's own, and Convoy's metadata. */
const RESERVED_DATABASES: ReadonlySet<string> = new Set(['admin', 'config', 'local', 'convoy_metadata']);

/** Option letters that the linear-time engine supports, with its flags. `u` changes nothing: names are UTF-8 anyway. */
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

/**
 * Begins of the names of internal databases: Atlas and its search (`__mdb_internal_atlas`, `__mdb_internal_search`),
 * the SQL interface, and mongosync's metadata under its present and its former name. Like mongosync from 1.18 on,
 * Convoy leaves them alone on both clusters: what they say of one cluster is wrong in another.
 */
const RESERVED_PREFIXES = ['__mdb_internal', 'mongosync_reserved_for_'] as const;

/** Whether a database is internal to the server, to MongoDB's services or to a migration tool, Convoy included. */
export function isReservedDatabase(database: string): boolean {
  return RESERVED_DATABASES.has(database) || RESERVED_PREFIXES.some((prefix) => database.startsWith(prefix));
}

/** Collections in which the server builds the result of `$out`, `convertToCapped` or a rename across databases. */
const TEMPORARY_COLLECTION = /^tmp(?:\.agg_out\.|[A-Za-z0-9]{5}\.(?:convertToCapped|renameCollection)\.?)/;

/** The UUID of the collection follows; of a time series, a user's name may begin like that too. */
const RESHARDING_COPY = /^system\.(?:resharding\.|buckets\.resharding\.[0-9a-f]{8}-)/;

/** Whether a collection is the copy that a server fills while it reshards another one. */
export function isReshardingCopy(collection: string): boolean {
  return RESHARDING_COPY.test(collection);
}

/**
 * Whether a collection is the server's own (`system.views`, temporary collections, …); `system.js` and the buckets of
 * time series hold users' data.
 */
export function isReservedCollection(collection: string): boolean {
  const series = seriesOf(collection);
  if (series !== null) return isReshardingCopy(collection) || isReservedCollection(series);
  return (collection.startsWith('system.') && collection !== 'system.js') || TEMPORARY_COLLECTION.test(collection);
}

/**
 * Compiles the filter of a start request: what is included (everything, if nothing is named), minus what is excluded.
 * Inside one element `collections` and `collectionsRegex` form a union. Reserved names are never included. Patterns
 * match anywhere in a name unless anchored, in time linear in its length.
 * @throws ConvoyError `documentFilterInvalid`; `filterPatternInvalid` for a pattern or option letter that the
 * linear-time engine does not support
 */
export function compileNamespaceFilter(
  request: Pick<StartRequest, 'includeNamespaces' | 'excludeNamespaces' | 'documentFilter'>,
): NamespaceFilter {
  const include = request.includeNamespaces.map(compileSelector);
  const exclude = request.excludeNamespaces.map(compileSelector);
  const queries = new Map(
    (request.documentFilter ?? []).map((one) => [`${one.database}.${one.collection}`, parseDocumentFilter(one)]),
  );
  const mayInclude = (database: string): boolean =>
    !isReservedDatabase(database) && (include.length === 0 || include.some((selector) => selector.database(database)));
  return {
    mayInclude,
    documentFilter: (database, collection) => queries.get(`${database}.${userName(collection)}`),
    includes: (database, collection) =>
      mayInclude(database) &&
      !isReservedCollection(collection) &&
      (include.length === 0 || selects(include, database, collection)) &&
      !selects(exclude, database, collection),
  };
}

/**
 * Compiles selectors like those of a filter; none select nothing.
 * @returns whether one of them selects a collection
 * @throws ConvoyError `filterPatternInvalid`
 */
export function compileSelectors(
  selectors: readonly NamespaceSelector[],
): (database: string, collection: string) => boolean {
  const compiled = selectors.map(compileSelector);
  return (database, collection) => selects(compiled, database, collection);
}

function selects(selectors: readonly CompiledSelector[], database: string, collection: string): boolean {
  const name = userName(collection);
  return selectors.some((selector) => selector.database(database) && selector.collection(name));
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
        `The option letter ${letter} of the pattern ${quoted(pattern)} is not supported; use i, m and s.`,
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
      `The linear-time engine cannot compile the pattern ${quoted(pattern)}; remove back-references and look-around.`,
      { cause },
    );
  }
}

/** Longest part of a pattern that a description repeats. */
const PATTERN_SHOWN_CHARACTERS_MAX = 100;

function quoted(pattern: string): string {
  return JSON.stringify(pattern.slice(0, PATTERN_SHOWN_CHARACTERS_MAX));
}

/** Operators whose result depends on the document alone, and on the collation of the collection. */
const OPERATORS: ReadonlySet<string> = new Set([
  ...['$and', '$or', '$nor', '$not', '$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$comment'],
  ...['$exists', '$type', '$mod', '$regex', '$options', '$all', '$elemMatch', '$size', '$jsonSchema'],
  ...['$bitsAllClear', '$bitsAllSet', '$bitsAnyClear', '$bitsAnySet'],
  ...['$geoIntersects', '$geoWithin', '$geometry', '$box', '$center', '$centerSphere', '$polygon'],
]);

/** Far below the server's limit of 200 levels: the query becomes part of others. */
const LEVELS_MAX = 100;

/** JavaScript moves such names to the front of an object. */
const INTEGER_NAME = /^(?:0|[1-9]\d*)$/;

/**
 * Parses the query of one collection. The same document must match at any time and on any server: a document is
 * compared with it when it is copied, whenever it changes, and when it is verified.
 * @throws ConvoyError `documentFilterInvalid`, naming the collection and what is wrong
 */
export function parseDocumentFilter(given: DocumentFilter): Document {
  const refuse = (what: string): never => {
    throw new ConvoyError(
      'documentFilterInvalid',
      `The documentFilter of ${given.database}.${given.collection} ${what}.`,
    );
  };
  let filter: unknown;
  try {
    // Relaxed, it would make numbers of JavaScript of all integers, and compare with others beyond 2^53.
    filter = BSON.EJSON.parse(filterText(given), { relaxed: false });
  } catch {
    return refuse('is not Extended JSON. Write it as find takes it');
  }
  if (!isPlain(filter)) return refuse('is not a query. Write an object, such as {"region": "EU"}');
  checkNames(filter, 1, refuse);
  return filter;
}

/** A capped collection keeps the order of its documents, so none can join or leave it later. */
export function cappedWithFilter(namespace: string): ConvoyError {
  return new ConvoyError(
    'documentFilterInvalid',
    `${namespace} is capped: its documents cannot be filtered. Migrate it as a whole, or exclude it.`,
  );
}

function checkNames(value: unknown, level: number, refuse: (what: string) => never): void {
  if (level > LEVELS_MAX) refuse(`has more than ${LEVELS_MAX} levels`);
  if (Array.isArray(value)) for (const element of value) checkNames(element, level + 1, refuse);
  if (!isPlain(value)) return;
  const names = Object.keys(value);
  for (const name of names) {
    if (name.startsWith('$') && !OPERATORS.has(name))
      refuse(`has ${name.slice(0, 40)}, whose result depends on more than the document. Use comparisons of fields`);
    if (names.length > 1 && INTEGER_NAME.test(name))
      refuse(`names the field ${name} beside others, whose order would be lost. Divide it with $and`);
    if (name !== '$jsonSchema') checkNames(value[name], level + 1, refuse);
  }
}

/** Objects of JavaScript, no BSON values. */
function isPlain(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
